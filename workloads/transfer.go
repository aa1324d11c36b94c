package workloads

import (
	"cmp"
	"context"
)

const (
	balanceKey        = "balance"
	defaultPayment    = 100
	defaultRemittance = 10
	defaultBalance    = 1000
)

// transfer is the example of article 000: a slow payment of the first client that outlives its
// lease overwrites the others' quick remittances.
var transfer = &Workload{
	name:  "transfer",
	about: "slow payments and quick remittances on one balance; overlap loses money",
	prepare: func(ctx context.Context, s Store) error {
		_, err := s.Write(ctx, balanceKey, defaultBalance, 0)
		return err
	},
	guarded: func(Config) map[string]int64 { return map[string]int64{balanceKey: defaultBalance} },
	round: func(ctx context.Context, c *Client, n int) error {
		amounts := cmp.Or(c.config.Amounts, [2]int64{defaultPayment, defaultRemittance})
		delta := amounts[1]
		if c.Index == 0 {
			delta = -amounts[0]
		}
		return c.guardedRound(ctx, guarded{key: balanceKey, think: c.think(),
			update: func(read int64) (int64, bool) { return read + delta, true }})
	},
}
