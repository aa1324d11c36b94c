package story

import (
	"fmt"
	"strings"

	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/history"
)

// sayEvent adds a command of the answer, and whose hold it changed.
func (t *narrator) sayEvent(e *explain.Event) {
	if e.Command == nil || t.grants(e) || t.ends(e) {
		return
	}
	t.sayAsked(e)
	if e.Command.Sent != 0 && e.At-e.Command.Sent > late {
		by := ""
		if e.Op != nil && e.Op.Op == history.Acquire {
			by = " by an acquire"
		}
		t.say(e.At, 3, true, fmt.Sprintf("at %s %s's late %s, sent%s at %s%s",
			t.ms(e.At), shortened(e.Command.Client), command(e.Command), by, t.ms(e.Command.Sent), hit(e)))
		return
	}
	verb := "sent, in the background,"
	if e.Op != nil {
		verb = map[history.Op]string{history.Release: "released with", history.Extend: "renewed with", history.Acquire: "sent, in its acquire,"}[e.Op.Op]
	}
	who := shortened(e.Command.Client)
	if e.Command.Client == "" {
		who, verb = "somebody who was not recorded", "sent"
	}
	t.say(e.At, 3, true, fmt.Sprintf("at %s %s %s %s%s", t.ms(e.At), who, verb, command(e.Command), hit(e)))
}

// sayAsked adds what a release that changed another's hold had asked the same node before: a lock
// that compares and deletes in two commands was answered when its hold was still there.
func (t *narrator) sayAsked(e *explain.Event) {
	if e.Op == nil || e.Op.Op != history.Release || !e.HitAnothers() {
		return
	}
	var asked *history.Command
	for _, c := range t.sent[e.Op.ID] {
		if c.Node == e.Command.Node && c.Replied != 0 && c.Replied <= e.Command.Sent && c.Sent < e.Command.Sent && !c.Failed() {
			asked = c
		}
	}
	if asked == nil {
		return
	}
	text := fmt.Sprintf("at %s %s asked, in its release, %s", t.ms(asked.Sent), shortened(asked.Client), command(asked))
	if e.Op.Token != "" && strings.Contains(asked.Reply, e.Op.Token) {
		text += ": its own token"
	}
	t.say(asked.Sent, 3, true, text)
}

// late is by how many nanoseconds more a command is executed after it was sent, or a client told of
// its grant, for the story to say so.
const late = 10 * milli

// hit returns what a command did to a key, and whose key it was.
func hit(e *explain.Event) string {
	whose := ""
	switch {
	case e.HitAnothers():
		whose = ", which was " + shortened(e.Holder) + "'s"
	case e.Holder != "":
		whose = ", which was its own"
	}
	did := map[explain.Hit]string{explain.Freed: "deleted", explain.Cut: "removed a part of", explain.Renewed: "renewed", explain.Changed: "changed"}[e.Hit]
	switch {
	case e.Hit == explain.Made:
		return ": it created " + quoted(e.Key)
	case did != "":
		return fmt.Sprintf(": it %s %s%s", did, quoted(e.Key), whose)
	}
	return ""
}
