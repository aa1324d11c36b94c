package page

import (
	"fmt"
	"io"
	"strings"
)

// MaxPicture is the most bytes of a picture that a list shows.
const MaxPicture = 64 << 10

// The size of a picture, in pixels, and the most clients in it.
const (
	pictureWidth   = 200.0
	pictureRow     = 12.0
	pictureClients = 5
)

// Picture draws a scene as small as a stamp, as SVG: a row for each client with its holds and the time that it was inside, the faults behind them, and a line
// at the violation. The scene must have lanes.
func Picture(w io.Writer, s Scene) error {
	from, to := float64(s.Lanes.Focus[0]), float64(s.Lanes.Focus[1])
	x := func(at int64) float64 { return min(max((float64(at)-from)/max(to-from, 1), 0), 1) * pictureWidth }
	var b strings.Builder
	bar := func(class string, from, to int64, y, height float64) {
		if left, right := x(from), x(to); right > left {
			fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, class, left, y, max(right-left, 1), height)
		}
	}
	y := 0.0
	for _, r := range s.Lanes.Rows {
		if r.Kind != "client" || y >= pictureClients*pictureRow || len(r.Holds)+len(r.Waits) == 0 {
			continue
		}
		for _, f := range r.Shade {
			bar("f", f[0].(int64), f[1].(int64), y, pictureRow)
		}
		for _, h := range r.Holds {
			for _, belief := range h.Belief {
				bar("h", belief[0], belief[1], y+2, pictureRow-4)
			}
			for _, u := range h.Uses {
				bar("u", u[0].(int64), u[1].(int64), y+4, pictureRow-8)
			}
		}
		y += pictureRow
	}
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g"><style>.f{fill:#d97706;opacity:.25}.h{fill:#bbd7f5}.u{fill:#1565c0}.v{stroke:#b5176b;stroke-width:2}`+
		`@media(prefers-color-scheme:dark){.h{fill:#224a73}.u{fill:#6db6fe}.v{stroke:#fe8fc4}}</style>%s<line class="v" x1="%.1f" x2="%.1f" y1="0" y2="%g"/></svg>
`, pictureWidth, y, pictureWidth, y, b.String(), x(s.At), x(s.At), y)
	return err
}
