package workloads

import "context"

// transfer is the story of article 000: on one balance, the first client makes payments, which are slow, and the others
// remit, quickly. A payment that outlives the lease overwrites the remittances made meanwhile.
type transfer struct{}

const (
	balanceKey        = "balance"
	defaultPayment    = 100
	defaultRemittance = 10
	defaultBalance    = 1000
)

func (transfer) Name() string { return "transfer" }
func (transfer) About() string {
	return "slow payments and quick remittances on one balance; overlap loses money"
}

func (transfer) Prepare(ctx context.Context, s Store, cfg Config) error {
	return s.Write(ctx, balanceKey, int64(defaultBalance), 0)
}

func (transfer) Guarded(cfg Config) map[string]int64 {
	return map[string]int64{balanceKey: int64(defaultBalance)}
}

func (transfer) Run(ctx context.Context, c *Client) error {
	payment, remittance := c.Config.amounts()
	delta := remittance
	if c.Index == 0 {
		delta = -payment
	}
	return c.rounds(ctx, func(ctx context.Context, n int) error {
		return c.guardedRound(ctx, guarded{key: balanceKey, think: c.think(),
			update: func(read int64) (int64, bool) { return read + delta, true }})
	})
}

func (cfg Config) amounts() (payment, remittance int64) {
	if cfg.Amounts == [2]int64{} {
		return defaultPayment, defaultRemittance
	}
	return cfg.Amounts[0], cfg.Amounts[1]
}
