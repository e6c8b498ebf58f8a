package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"ticketrail/cmd/internal/admin"
)

// A tablet is a browser on another machine, as far as the daemon can tell: it asks for this one
// by a name.
type tablet struct {
	client *http.Client
	at     string // the display's address
}

func newTablet(socket string) (*tablet, error) {
	all, err := admin.NewClient(socket).Screens(context.Background())
	if err != nil {
		return nil, err
	}
	if len(all.Screens) == 0 {
		return nil, fmt.Errorf("the daemon has no screens")
	}
	u, err := url.Parse(all.Screens[0].Address)
	if err != nil {
		return nil, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	return &tablet{at: "http://" + u.Host,
		client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}}, nil
}

func (b *tablet) get(path string) (int, string, error) {
	req, err := http.NewRequest("GET", b.at+path, nil)
	if err != nil {
		return 0, "", err
	}
	req.Host = "kitchen-box"
	resp, err := b.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

var shownCode = regexp.MustCompile(`id="code"[^>]*>([A-Z0-9-]+)<`)

// useTablet is the command tablet: without arguments it asks to be paired and puts the code that it
// is shown into the environment, with two it opens a screen and wants that status.
func (r *scriptDaemon) useTablet(ts *testscript.TestScript, args []string) error {
	if len(args) == 0 {
		var err error
		if r.tablet, err = newTablet(r.socket); err != nil {
			return err
		}
		_, text, err := r.tablet.get("/")
		if err != nil {
			return err
		}
		m := shownCode.FindStringSubmatch(text)
		if m == nil {
			return fmt.Errorf("no code is shown: %s", text)
		}
		ts.Setenv("CODE", m[1])
		return nil
	}
	code, _, err := r.tablet.get("/screen/" + args[0])
	if err == nil && strconv.Itoa(code) != args[1] {
		err = fmt.Errorf("it got %d, want %s", code, args[1])
	}
	return err
}
