package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

// YAML returns the scenario as a file, from which [Parse] reads the same scenario.
func (s Scenario) YAML() ([]byte, error) {
	data, err := yaml.MarshalWithOptions(s, yaml.IndentSequence(false))
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return data, nil
}

// Hash returns the SHA-256, in hexadecimal, of the seed and the resolved scenario without its description. Two runs with the same hash have
// the same workload, faults and choices.
func (s Scenario) Hash(seed uint64) (string, error) {
	s.About = ""
	data, err := s.YAML()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(data, "seed: %d\n", seed))
	return hex.EncodeToString(sum[:]), nil
}

// tree returns the scenario as maps, lists and scalars.
func (s Scenario) tree() (map[string]any, error) {
	data, err := s.YAML()
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	return tree, unmarshal(string(data), &tree)
}

func unmarshal(text string, v any) error {
	if err := yaml.Unmarshal([]byte(text), v); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("%s", first)
	}
	return nil
}
