package results

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed baseline/suite-sim.json
var keptSuite []byte

// KeptSuite returns the suite that this version keeps: every lock of the catalogue in every
// scenario, in the simulator. Cells of a stored suite do not know which locks give out fences.
func KeptSuite() (Suite, error) {
	var s Suite
	if err := json.Unmarshal(keptSuite, &s); err != nil {
		return s, fmt.Errorf("the suite that is kept with lockbench: %w", err)
	}
	return s, nil
}
