package judge

import (
	"maps"
	"slices"
	"time"

	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
)

// Server is a single node for explanations, which replay commands on it.
type Server struct{ *fakeredis.Server }

var _ explain.Server = (*Server)(nil)

// NewServer starts an empty node. The caller closes it. An error comes from miniredis.
func NewServer() (*Server, error) {
	s, err := fakeredis.New()
	return &Server{s}, err
}

// Load replaces all data of the server, leaving out what has expired by at.
func (s *Server) Load(at time.Time, values map[string]*explain.Value) {
	d := make(fakeredis.Data, len(values))
	for key, v := range values {
		d[key] = &fakeredis.Entry{Datum: history.Datum{Value: dataIn(v)}, Expires: v.Expires}
	}
	s.SetData(at, d)
}

// dataIn returns the data of a value as a record has them.
func dataIn(v *explain.Value) any {
	switch v.Kind {
	case "hash":
		return v.Fields
	case "list":
		return v.Items
	case "zset":
		return v.Scores
	case "set":
		members := map[string]bool{}
		for _, m := range v.Items {
			members[m] = true
		}
		return members
	}
	return v.Text
}

// Value returns what a key holds; nil: there is none.
func (s *Server) Value(key string) *explain.Value {
	v := s.Entry(key)
	if v == nil {
		return nil
	}
	out := explain.Value{Expires: v.Expires}
	switch data := v.Value.(type) {
	case string:
		out.Kind, out.Text = "string", data
	case map[string]string:
		out.Kind, out.Fields = "hash", data
	case []string:
		out.Kind, out.Items = "list", data
	case map[string]bool:
		out.Kind, out.Items = "set", slices.Sorted(maps.Keys(data))
	case map[string]float64:
		out.Kind, out.Scores = "zset", data
	}
	return &out
}
