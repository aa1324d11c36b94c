package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
)

// writeJSON puts a result on stdout.
func (a *app) writeJSON(v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	_, err = a.out.Write(append(data, '\n'))
	return err
}

// table puts aligned columns on stdout, a row for each slice.
func (a *app) table(rows ...[]string) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, cell)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
