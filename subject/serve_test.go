package subject_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/subject"
)

// A lock with its own Redis client gets what it needs to connect in a child as well.
func TestServedLocksCanDial(t *testing.T) {
	var got subject.Config
	factory := func(c subject.Config) (any, error) { got = c; return nil, io.ErrUnexpectedEOF }
	ask := `{"id":1,"op":"new","client":"c1","key":"k","lease_ms":1000,"poll_ms":10,"servers":["127.0.0.1:1"],"owner":"o"}` + "\n"
	if err := subject.ServeOn(strings.NewReader(ask), io.Discard, factory, nil); err != nil {
		t.Fatal(err)
	}
	if got.Dial == nil || len(got.Addrs) != 1 {
		t.Errorf("Dial is nil: %v, addresses %q", got.Dial == nil, got.Addrs)
	}
}

// A lock that extends its holds by itself tells so: the run counts the renewals.
func TestServedLocksTellTheirRenewals(t *testing.T) {
	factory := func(c subject.Config) (any, error) {
		c.Renewed(impls.Renewal{Token: "t", Call: time.Now()})
		return nil, io.ErrUnexpectedEOF
	}
	ask := `{"id":1,"op":"new","client":"c1","key":"k","servers":["127.0.0.1:1"]}` + "\n"
	var out strings.Builder
	if err := subject.ServeOn(strings.NewReader(ask), &out, factory, nil); err != nil {
		t.Fatal(err)
	}
	if said := out.String(); !strings.Contains(said, `"renewed":"k"`) || !strings.Contains(said, `"token":"t"`) || strings.Contains(said, `"ok":true`) {
		t.Errorf("it said %s", said)
	}
}
