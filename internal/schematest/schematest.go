// Package schematest validates documents against the JSON Schemas of this repository, in tests.
package schematest

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// Check returns the first mismatch of a document with the schema in a file, if there is one.
func Check(t *testing.T, file string, document []byte) []string {
	t.Helper()
	schemaText, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(schemaText, &schema); err != nil {
		t.Fatal(err)
	}
	// their $id are relative
	rules, err := schema.Resolve(&jsonschema.ResolveOptions{BaseURI: "https://lockbench.invalid/"})
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(document, &doc); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, document)
	}
	if err := rules.Validate(doc); err != nil {
		return []string{err.Error()}
	}
	return nil
}
