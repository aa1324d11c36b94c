package resp

import (
	"bytes"
	"slices"
	"testing"
)

// frames feeds data in pieces of size bytes and returns the frames that were parsed, and all bytes
// that came out.
func frames(data []byte, size int, feed func([]byte), next func() (raw []byte, opaque, ok bool)) (found []int, all []byte) {
	for piece := range slices.Chunk(data, size) {
		feed(bytes.Clone(piece))
		for raw, opaque, ok := next(); ok; raw, opaque, ok = next() {
			all = append(all, raw...)
			if !opaque {
				found = append(found, len(all))
			}
		}
	}
	return found, all
}

// check: any bytes come out as they went in, and the frames do not depend on the pieces.
func check(t *testing.T, data []byte, size int, run func(size int) (found []int, all, rest []byte)) {
	t.Helper()
	found, all, rest := run(max(1, len(data)))
	if !bytes.Equal(append(slices.Clone(all), rest...), data) {
		t.Errorf("in one piece: %q came out of %q", append(all, rest...), data)
	}
	again, all, rest := run(size)
	if !bytes.Equal(append(slices.Clone(all), rest...), data) {
		t.Errorf("in pieces of %d: %q came out of %q", size, append(all, rest...), data)
	}
	if !slices.Equal(found, again) {
		t.Errorf("frames end at %v, in pieces of %d at %v: %q", found, size, again, data)
	}
}

func FuzzRequests(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING\r\n*0\r\n"), uint8(3))
	f.Add([]byte("SET \"a\\x41\" 'b\\'c'\n*1\r\n:1\r\n"), uint8(1))
	f.Add([]byte("*3\r\n$3\r\nSET\r\n$-1\r\n"), uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		check(t, data, int(size)+1, func(size int) ([]int, []byte, []byte) {
			var s Requests
			found, all := frames(data, size, s.Feed, func() ([]byte, bool, bool) {
				r, ok := s.Next()
				_, _ = r.Name(), r.Strings(12, 128)
				return r.Raw, r.opaque, ok
			})
			return found, all, s.Rest()
		})
	})
}

func FuzzReplies(f *testing.F) {
	for _, tt := range replyTable {
		f.Add([]byte(tt.wire), uint8(2))
	}
	f.Add([]byte("*2\r\n%1\r\n+a\r\n$1\r\nx\r\n:1\r\n"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		check(t, data, int(size)+1, func(size int) ([]int, []byte, []byte) {
			var s Replies
			found, all := frames(data, size, s.Feed, func() ([]byte, bool, bool) {
				r, ok := s.Next()
				_, _, _, _ = r.Line(128), r.elem(2), r.Str(), r.IsNil()
				return r.Raw, r.opaque, ok
			})
			return found, all, s.Rest()
		})
	})
}
