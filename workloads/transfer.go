package workloads

import "context"

const (
	balanceKey        = "balance"
	defaultPayment    = 100
	defaultRemittance = 10
	defaultBalance    = 1000
)

// transfer is the example of article 000: a slow payment of the first client that outlives its lease overwrites the others' quick remittances.
var transfer = workload{
	name:  "transfer",
	about: "slow payments and quick remittances on one balance; overlap loses money",
	prepare: func(ctx context.Context, s Store) error {
		return s.Write(ctx, balanceKey, defaultBalance, 0)
	},
	guarded: func(Config) map[string]int64 { return map[string]int64{balanceKey: defaultBalance} },
	round: func(ctx context.Context, c *Client, n int) error {
		payment, remittance := c.config.amounts()
		delta := remittance
		if c.Index == 0 {
			delta = -payment
		}
		return c.guardedRound(ctx, guarded{key: balanceKey, think: c.think(),
			update: func(read int64) (int64, bool) { return read + delta, true }})
	},
}

func (cfg Config) amounts() (payment, remittance int64) {
	if cfg.Amounts == [2]int64{} {
		return defaultPayment, defaultRemittance
	}
	return cfg.Amounts[0], cfg.Amounts[1]
}
