package main

import (
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/lockbench/lockbench/subject"
)

func main() {
	all := adapters()
	f := all[strings.Join(os.Args[1:], " ")]
	if f == nil {
		log.Fatalf("libraries: want one of %q", slices.Sorted(maps.Keys(all)))
	}
	logx.Disable() // go-zero would write statistics to standard output, whichever library is served
	if err := subject.Serve(f); err != nil {
		log.Fatalf("libraries %s: %v", os.Args[1], err)
	}
}
