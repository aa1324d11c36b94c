package history

// command reads one line of a commands file. It overwrites both c and source; the line is a script
// if source has a digest.
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
		c.Node = int(s.node())
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
	s.record("a fault window", s.fields(w))
	if w.Fault == "" {
		s.failLine("expected the field \"fault\": a name such as pause-client")
	}
	if w.End != 0 && w.End < w.Start {
		s.failLine("end %d is before start %d", w.End, w.Start)
	}
}
