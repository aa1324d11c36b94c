package history

// command reads one line of a commands file. It overwrites both c and source; the line is a script if source has a digest.
func (s *scanner) command(c *Command, source *Script) {
	*c, *source = Command{}, Script{}
	s.record("a command", func(name []byte) {
		switch string(name) {
		case "digest":
			source.Digest = string(s.text())
		case "source":
			source.Source = string(s.text())
		default:
			s.commandField(c, name)
		}
	})
	if source.Digest != "" {
		return
	}
	if c.Name == "" {
		s.failLine("expected the field \"name\": the command in upper case")
	}
	if c.Replied != 0 && c.Replied < c.Sent {
		s.failLine("replied %d is before sent %d", c.Replied, c.Sent)
	}
}

func (s *scanner) commandField(c *Command, name []byte) {
	switch string(name) {
	case "client":
		c.Client = s.pool.of(s.text())
	case "node":
		c.Node = s.node()
	case "conn":
		c.Conn = s.unsigned()
	case "op":
		c.Op = s.unsigned()
	case "turn":
		c.Turn = s.unsigned()
	case "ran":
		c.Ran = s.instant()
	case "script":
		c.Script = s.pool.of(s.text())
	case "cut":
		c.Cut = s.boolean()
	case "sent":
		c.Sent = s.instant()
	case "replied":
		c.Replied = s.instant()
	case "name":
		c.Name = s.pool.of(s.text())
	case "args":
		s.list(func() {
			if arg := s.pool.of(s.text()); len(c.Args) < MaxArgs {
				c.Args = append(c.Args, arg)
			}
		})
	case "reply":
		c.Reply = s.pool.of(s.text())
	default:
		s.skip(0)
	}
}

// window reads one fault window line into w, which it overwrites.
func (s *scanner) window(w *Window) {
	*w = Window{Node: -1}
	s.record("a fault window", func(name []byte) { s.windowField(w, name) })
	if w.Fault == "" {
		s.failLine("expected the field \"fault\": a name such as pause-client")
	}
	if w.End != 0 && w.End < w.Start {
		s.failLine("end %d is before start %d", w.End, w.Start)
	}
}

func (s *scanner) windowField(w *Window, name []byte) {
	switch string(name) {
	case "fault":
		w.Fault = string(s.text())
	case "client":
		w.Client = s.pool.of(s.text())
	case "node":
		w.Node = s.node()
	case "start":
		w.Start = s.instant()
	case "ending":
		w.Ending = s.instant()
	case "end":
		w.End = s.instant()
	case "confirmed":
		w.Confirmed = s.boolean()
	case "moment":
		w.Moment = string(s.text())
	case "note":
		w.Note = string(s.text())
	case "replica":
		w.Replica = string(s.text())
	case "effects":
		s.list(func() {
			var e Effect
			s.object("an effect", func(name []byte) { s.effectField(&e, name) })
			w.Effects = append(w.Effects, e)
		})
	default:
		s.skip(0)
	}
}

func (s *scanner) effectField(e *Effect, name []byte) {
	switch string(name) {
	case "node":
		e.Node = s.node()
	case "at":
		e.At = s.instant()
	case "what":
		e.What = string(s.text())
	case "by":
		e.By = s.integer()
	case "ppm":
		e.PPM = s.integer()
	case "turn":
		e.Turn = s.unsigned()
	case "known":
		e.Known = s.boolean()
	case "kept":
		s.list(func() { e.Kept = append(e.Kept, string(s.text())) })
	case "lost":
		s.list(func() { e.Lost = append(e.Lost, string(s.text())) })
	default:
		s.skip(0)
	}
}

// node reads the number of a node; -1 means none.
func (s *scanner) node() int {
	s.peek()
	start := s.at
	n := s.integer()
	if n < -1 || n > 1<<20 {
		s.fail(start, "expected the number of a node, found %d", n)
	}
	return int(n)
}

// sidecarHeader reads the header line of a commands or faults file.
func (s *scanner) sidecarHeader(schema string) {
	found := false
	s.record("the header", func(name []byte) {
		if string(name) != "schema" {
			s.skip(0)
			return
		}
		found = true
		s.schema(schema)
	})
	if !found {
		s.failLine("expected a header line with \"schema\":%q first", schema)
	}
}
