package resp

import "testing"

// TestNoAllocations: framing a pipeline and its replies and reading names and keys allocates
// nothing.
func TestNoAllocations(t *testing.T) {
	wire := AppendRequest(nil, "SET", "key", "value", "NX", "PX", "300")
	wire = AppendRequest(wire, "evalsha", "abc", "1", "key", "token")
	answer := []byte("+OK\r\n*2\r\n:1\r\n$5\r\nvalue\r\n")
	var in Requests
	var out Replies
	writes := 0
	allocs := testing.AllocsPerRun(100, func() {
		in.Feed(wire)
		for r, ok := in.Next(); ok; r, ok = in.Next() {
			if r.IsWrite() && r.Name() != "" {
				writes++
			}
		}
		out.Feed(answer)
		for r, ok := out.Next(); ok; r, ok = out.Next() {
			writes += len(r.Raw)
		}
	})
	if allocs != 0 || writes == 0 {
		t.Errorf("%v allocations for two requests and two replies; %d seen", allocs, writes)
	}
}

func BenchmarkRequests(b *testing.B) {
	wire := AppendRequest(nil, "SET", "key", "value", "NX", "PX", "300")
	var s Requests
	b.SetBytes(int64(len(wire)))
	b.ReportAllocs()
	for b.Loop() {
		s.Feed(wire)
		for _, ok := s.Next(); ok; _, ok = s.Next() {
		}
	}
}

func BenchmarkReplies(b *testing.B) {
	wire := []byte("*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$1\r\n1\r\n")
	var s Replies
	b.SetBytes(int64(len(wire)))
	b.ReportAllocs()
	for b.Loop() {
		s.Feed(wire)
		for _, ok := s.Next(); ok; _, ok = s.Next() {
		}
	}
}
