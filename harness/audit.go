package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/workloads"
)

// openStore opens the guarded store for the harness itself, past every client and every fault.
func (d *drive) openStore() (workloads.Store, func() error) {
	return workloads.OpenStore(workloads.Access{StoreAddr: storeAddr, Dial: d.field.dial}, d.prefix)
}

// auditTime bounds the look at the store after a run.
const auditTime = 5 * time.Second

// audit reads what the guarded store holds now that everybody is done. It is done with a context of its own, so that an
// interrupted run is audited too.
func (d *drive) audit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTime)
	defer cancel()
	w, _ := workloads.Find(d.Scenario.Workload)
	store, end := d.openStore()
	d.store = map[string]checker.StoreEnds{}
	for key, initial := range w.Guarded(d.config()) {
		final, err := store.Read(ctx, key, 0)
		if err != nil {
			d.notes = append(d.notes, fmt.Sprintf("the guarded store could not be read at the end: %v", err))
			break
		}
		d.store[key] = checker.StoreEnds{Initial: &initial, Final: &final}
	}
	return end()
}
