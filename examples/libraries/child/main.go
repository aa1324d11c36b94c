// Command child serves one of the libraries to lockbench: lockbench suite --exec 'child go-zero'.
package main

import (
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/lockbench/lockbench/examples/libraries"
	"github.com/lockbench/lockbench/subject"
)

func main() {
	all := libraries.Adapters()
	f := all[strings.Join(os.Args[1:], " ")]
	if f == nil {
		log.Fatalf("child: want one of %q", slices.Sorted(maps.Keys(all)))
	}
	logx.Disable() // go-zero would write statistics to standard output, whichever library is served
	if err := subject.Serve(f); err != nil {
		log.Fatal(fmt.Errorf("child %s: %w", os.Args[1], err))
	}
}
