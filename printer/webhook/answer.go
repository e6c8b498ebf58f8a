package webhook

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"ticketrail/printer/layout"
)

const (
	// MaxAnswer is how many bytes of an answer are read, in case it never ends.
	MaxAnswer = 16 << 10
	// maxRetryAfter bounds the pause that the other side may ask for: a kitchen cannot wait longer without a try.
	maxRetryAfter = 5 * time.Minute
)

// An Answer is the other side's answer to a message.
type Answer struct {
	Code int
	// Said is the status and the first line of the answer that has any text, without secrets.
	Said string
	// Redirect is where a redirect leads, which is not followed: its scheme and host, for the rest may be secret.
	Redirect string
	// RetryAfter is the pause that the other side asks for, at most five minutes; 0: none. A date is not used, because
	// the clock of this box or of the other side may be wrong by years.
	RetryAfter time.Duration
}

func (p *post) answer(res *http.Response) Answer {
	a := Answer{Code: res.StatusCode, Said: p.said(res), RetryAfter: retryAfter(res), Redirect: "no readable address"}
	if location, err := res.Location(); err == nil && location.Host != "" {
		a.Redirect = layout.OneLine(location.Scheme + "://" + location.Host)
	}
	return a
}

func retryAfter(res *http.Response) time.Duration {
	seconds, err := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range, seconds is the largest number
		return 0
	}
	return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
}

// said reads the rest of the body too, up to a limit, so that the connection can be used again.
func (p *post) said(res *http.Response) string {
	out := strconv.Itoa(res.StatusCode)
	if text := http.StatusText(res.StatusCode); text != "" {
		out += " " + text
	}

	in := io.LimitReader(res.Body, MaxAnswer)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, MaxAnswer+1)
	for lines.Scan() {
		if line := Redact(lines.Text(), slices.Concat(p.m.Secrets, p.m.Keys.text)...); line != "" {
			out += ": " + line
			break
		}
	}

	_, _ = io.Copy(io.Discard, in)
	return out
}
