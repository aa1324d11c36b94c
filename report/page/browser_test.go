package page

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/internal/testneeds"
)

// browser is a headless Chromium for all pages of a test, controlled over the DevTools pipe: JSON
// messages, each ended by a zero byte.
type browser struct {
	process  *exec.Cmd
	kill     context.CancelFunc
	log      bytes.Buffer
	to, from *os.File
	messages *bufio.Reader
	calls    int
	events   []message // since the last tab was opened
}

// message is a message of DevTools. A reply has the ID of its call, an event has a Method.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// startBrowser starts Chromium for a test. It skips the test if Chromium is not installed, unless
// LOCKBENCH_REQUIRE names it.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		testneeds.Need(t, "chromium", errors.New("chromium is not installed (apt-get install chromium)"))
	}
	asked, to, err := os.Pipe()
	must(t, err)
	from, answers, err := os.Pipe()
	must(t, err)
	ctx, kill := context.WithCancel(context.WithoutCancel(t.Context())) // the test's context ends before its cleanups
	b := &browser{kill: kill, to: to, from: from, messages: bufio.NewReader(from)}
	b.process = exec.CommandContext(ctx, path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe")
	b.process.ExtraFiles = []*os.File{asked, answers} // its descriptors 3 and 4
	b.process.Stderr = &b.log                         // Wait returns when all of its processes have closed it
	b.process.WaitDelay = patience
	must(t, errors.Join(b.process.Start(), asked.Close(), answers.Close()))
	t.Cleanup(func() { b.close(t) })
	return b
}

func (b *browser) close(t *testing.T) {
	if err := b.call("", "Browser.close", nil, nil); err != nil {
		b.kill()
	}
	if err := errors.Join(b.process.Wait(), b.to.Close(), b.from.Close()); err != nil {
		t.Errorf("the browser: %v\n%s", err, b.log.String())
	}
	b.kill()
}

// patience bounds one call of the browser, even on a busy machine.
const patience = time.Minute

// call sends a request and waits for its reply.
func (b *browser) call(session, method string, params map[string]any, result any) error {
	b.calls++
	text, err := json.Marshal(message{ID: b.calls, Session: session, Method: method, Params: params})
	if err != nil {
		return err
	}
	if _, err = b.to.Write(append(text, 0)); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	reply, err := b.await(func(m message) bool { return m.ID == b.calls })
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", method, err)
	case reply.Error != nil:
		return fmt.Errorf("%s: %s", method, reply.Error)
	case result == nil:
		return nil
	}
	return json.Unmarshal(reply.Result, result)
}

// await reads messages up to the wanted one, and keeps the events before it.
func (b *browser) await(wanted func(message) bool) (m message, err error) {
	if err = b.from.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return m, err
	}
	for {
		text, err := b.messages.ReadBytes(0)
		if err != nil {
			return m, err
		}
		m = message{}
		if err = json.Unmarshal(text[:len(text)-1], &m); err != nil {
			return m, err
		}
		if m.ID == 0 {
			b.events = append(b.events, m)
		}
		if wanted(m) {
			return m, nil
		}
	}
}

// tab is one page in the browser. A method fails the test if the browser cannot do it.
type tab struct {
	t               *testing.T
	browser         *browser
	target, session string
}

// open opens a file in a new tab. DevTools adds the probe, which the page's policy does not block.
func (b *browser) open(t *testing.T, file string) *tab {
	t.Helper()
	var made struct{ TargetID, SessionID string }
	must(t, b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &made))
	must(t, b.call("", "Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &made))
	b.events = nil
	p := &tab{t, b, made.TargetID, made.SessionID}
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		p.do(domain+".enable", nil, nil)
	}
	p.do("Runtime.addBinding", map[string]any{"name": "loaded"}, nil) // which the probe calls
	p.do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": probe}, nil)
	p.do("Page.navigate", map[string]any{"url": "file://" + file}, nil)
	if !slices.ContainsFunc(b.events, loaded) {
		_, err := b.await(loaded)
		must(t, err)
	}
	return p
}

// loaded reports whether a message says that the page was loaded.
func loaded(m message) bool { return m.Method == "Runtime.bindingCalled" }

func (p *tab) do(method string, params map[string]any, result any) {
	p.t.Helper()
	must(p.t, p.browser.call(p.session, method, params, result))
}

// ask evaluates an expression in the page, and waits for its promise.
func (p *tab) ask(expression string, value any) {
	p.t.Helper()
	var out struct {
		Result    struct{ Value json.RawMessage }
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	p.do("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &out)
	if out.Exception != nil {
		p.t.Fatalf("%s: %s", expression, out.Exception)
	}
	must(p.t, json.Unmarshal(out.Result.Value, value))
}

// resize sets the window's width and the scheme, light or dark.
func (p *tab) resize(width int, scheme string) {
	p.t.Helper()
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// picture returns the whole page as a PNG.
func (p *tab) picture(width int) []byte {
	p.t.Helper()
	var height int
	p.ask("document.documentElement.scrollHeight", &height)
	var shot struct{ Data []byte }
	p.do("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true,
		"clip": map[string]int{"x": 0, "y": 0, "width": width, "height": height, "scale": 1}}, &shot)
	return shot.Data
}

// complaints returns the browser's errors and the page's requests for other resources.
func (p *tab) complaints() (errs, requests []string) {
	for _, e := range p.browser.events {
		text, _ := json.Marshal(e.Params)
		switch e.Method {
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
			errs = append(errs, string(text))
		case "Network.requestWillBeSent":
			// a picture inside the page is none
			if !strings.Contains(string(text), `"type":"Document"`) && !strings.Contains(string(text), `"url":"data:`) {
				requests = append(requests, string(text))
			}
		}
	}
	return errs, requests
}

func (p *tab) close() {
	p.t.Helper()
	must(p.t, p.browser.call("", "Target.closeTarget", map[string]any{"targetId": p.target}, nil))
}
