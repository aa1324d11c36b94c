package explain

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// table is CAUSES: what became of the first hold's mark, and under which condition, before the
// second was granted. The first row that fits counts; a violation that fits none is unknown.
var table = []struct {
	end   end
	when  func(*pair, *fate) bool // nil: always
	cause verdicts.Cause
}{
	{history.Restarted, nil, verdicts.RestartLoss},
	{history.Promoted, nil, verdicts.FailoverLoss},
	{history.Demoted, nil, verdicts.FailoverLoss},
	{apart, nil, verdicts.SplitBrain},
	{history.Evicted, nil, verdicts.Eviction},
	{history.Deleted, nil, verdicts.KeyDeleted},
	{history.ClockSet, nil, verdicts.ClockJump},

	{expired, (*pair).early, verdicts.ClockJump},
	{expired, (*pair).drifted, verdicts.ClockSkew},
	{expired, (*pair).madeAgain, verdicts.Resurrection},
	{expired, (*pair).tookOver, verdicts.MisUnlock},
	{expired, (*pair).believed, verdicts.Overbelief},
	{expired, (*pair).unrenewed, verdicts.RenewalGap},
	{expired, nil, verdicts.LeaseOverrun},

	{lapsed, nil, verdicts.LeaseOverrun},

	{freed, (*pair).shared, verdicts.ReaderEvicted},
	{freed, nil, verdicts.MisUnlock},

	{byItself, (*pair).late, verdicts.LateRequest},
	{byItself, nil, verdicts.OwnRelease},

	{taken, (*pair).early, verdicts.ClockJump},
	{taken, (*pair).drifted, verdicts.ClockSkew},
	{taken, (*pair).ended, verdicts.LeaseOverrun},
	{taken, (*pair).mistimed, verdicts.ClockSkew},
	{taken, (*pair).crowdedOut, verdicts.ReaderEvicted},
	{taken, nil, verdicts.DoubleGrant},

	{never, (*pair).early, verdicts.ClockJump},
	{never, (*pair).drifted, verdicts.ClockSkew},
	{never, nil, verdicts.DoubleGrant},

	{there, (*pair).unasked, verdicts.StaleReentry},
	{there, (*pair).eroded, verdicts.QuorumErosion},
	{there, (*pair).skewed, verdicts.ClockSkew},
	{there, (*pair).ended, verdicts.LeaseOverrun},
	{there, nil, verdicts.DoubleGrant},
}

// name returns the cause of the first row that fits.
func name(p *pair, f *fate) verdicts.Cause {
	for _, row := range table {
		if row.end == f.by && (row.when == nil || row.when(p, f)) {
			return row.cause
		}
	}
	return verdicts.CauseUnknown
}
