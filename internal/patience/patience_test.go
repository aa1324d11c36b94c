package patience_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/internal/patience"
)

func TestContext(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(c *patience.Context)
		want error // after a minute
	}{
		{"the limit ends it", func(*patience.Context) {}, context.DeadlineExceeded},
		{"kept", (*patience.Context).Keep, nil},
		{"cancelled", (*patience.Context).Cancel, context.Canceled},
		{"kept, then cancelled", func(c *patience.Context) { c.Keep(); c.Cancel() }, context.Canceled},
		{"kept too late", func(c *patience.Context) { time.Sleep(2 * time.Second); c.Keep() }, context.DeadlineExceeded},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := patience.New(t.Context(), time.Second)
				child, cancel := context.WithCancel(c)
				defer cancel()
				if at, ok := c.Deadline(); !ok || time.Until(at) != time.Second {
					t.Errorf("deadline %v, %v: want a second from now", at, ok)
				}
				row.do(c)
				time.Sleep(time.Minute)
				if !errors.Is(c.Err(), row.want) || c.Err() != nil && row.want == nil {
					t.Errorf("ended with %v, want %v", c.Err(), row.want)
				}
				if (child.Err() == nil) != (row.want == nil) {
					t.Errorf("a context made from it: %v", child.Err())
				}
				c.Cancel()
			})
		})
	}
}
