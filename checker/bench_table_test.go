package checker_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

var tableFile = flag.String("table", "", "file for the figures of BenchmarkCheck as a table in Markdown; - for standard output")

// tableRow is one history, judged by us and by plain Porcupine.
type tableRow struct {
	config      synthetic
	ours, plain figure
}

type table []tableRow

// write writes the table to the file named by -table, if there is one.
func (t table) write(b *testing.B) {
	b.Helper()
	out := io.Writer(os.Stdout)
	switch *tableFile {
	case "":
		return
	case "-":
	default:
		file, err := os.Create(*tableFile)
		if err != nil {
			b.Fatal(err)
		}
		defer func() {
			if err := file.Close(); err != nil {
				b.Error(err)
			}
		}()
		out = file
	}
	if _, err := io.WriteString(out, t.String()); err != nil {
		b.Error(err)
	}
}

// String returns the table, and below it how time and memory grow from a million operations to ten.
func (t table) String() string {
	var s strings.Builder
	s.WriteString("| operations | history | lockbench: operations/s | bytes/operation | plain Porcupine: operations/s | bytes/operation |\n|--:|---|--:|--:|--:|--:|\n")
	for _, r := range t {
		if r.ours.ops == 0 {
			continue // left out by -bench
		}
		fmt.Fprintf(&s, "| %s | %s | %s | %s |\n", grouped(r.config.Ops), r.name(), r.ours.cells(), r.plain.cells())
	}
	for _, big := range t {
		for _, small := range t {
			if big.ours.ops > 0 && small.ours.ops > 0 && big.config.Ops == 10_000_000 && small.config.Ops == 1_000_000 && big.name() == small.name() {
				fmt.Fprintf(&s, "\n%s: ten times the operations take %.1f times the time and %.1f times the bytes.\n",
					big.name(), 10*small.ours.ops/big.ours.ops, 10*big.ours.bytes/small.ours.bytes)
			}
		}
	}
	return s.String()
}

func (r tableRow) name() string {
	_, kind, _ := strings.Cut(label(r.config), "/")
	return strings.ReplaceAll(kind, "/", ", ")
}

func (f figure) cells() string {
	switch {
	case f.ops == 0 && f.note == "":
		return "– | –"
	case f.ops == 0:
		return f.note + " | –"
	case f.note != "":
		return fmt.Sprintf("%s | %s", f.note, grouped(int(f.bytes)))
	}
	return fmt.Sprintf("%s | %s", grouped(int(f.ops)), grouped(int(f.bytes)))
}

// grouped writes 12345 as 12,345.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

func bytesText(n float64) string {
	for _, unit := range []string{"bytes", "KB", "MB", "GB"} {
		if n < 1000 {
			return fmt.Sprintf("%.3g %s", n, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%.3g TB", n)
}
