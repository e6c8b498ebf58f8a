package push

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"ticketrail/printer/webhook"
	"ticketrail/queue/ticket"
)

// Options configure a third-party kitchen display: those with a key are an element of the list kds. Name and URL are
// required. The files are read at each attempt, so a secret can be changed without a reload.
type Options struct {
	Name string `mapstructure:"name"` // of the station
	// URL is where tickets are posted to, one at a time, as JSON. A secret path is never shown, but everyone who may
	// read the configuration can see it.
	URL string `mapstructure:"url"` // https://kds.example/api/tickets
	// TokenFile contains a bearer token; "": none is sent.
	TokenFile string `mapstructure:"token_file" file:"secret"`
	// SecretFile contains Standard Webhooks secrets (whsec_…), one on each line; "": nothing is signed.
	SecretFile string `mapstructure:"secret_file" file:"secret"`
	// CAFile contains PEM certificates of trusted authorities; "": the system's.
	CAFile string `mapstructure:"ca_file" file:"public"`
	// Timeout limits connecting, and then sending and the answer; 0 is 5 s.
	Timeout time.Duration `mapstructure:"timeout" default:"5s" range:"1s 1m"`
	// IncludeRaw has the daemon set Raw. It is off by default: the record may have names and notes that the display
	// need not know.
	IncludeRaw bool `mapstructure:"include_raw"`
	// Raw returns the original record of a delivery, which is sent too. It must be the same at each attempt. If it is
	// nil, or returns nil, the document is sent without it.
	Raw func(ctx context.Context, d ticket.Delivery) json.RawMessage `mapstructure:"-"`
	// Dial connects; nil is a net.Dialer's.
	Dial func(ctx context.Context, network, address string) (net.Conn, error) `mapstructure:"-"`
}

// Headers of an attempt, beside the headers of the package webhook.
const (
	headerKey = "Idempotency-Key"
	// headerDoubt is "true" if an earlier attempt, here or at another station, may have arrived. A
	// display that does not know the key shows POSSIBLE DUPLICATE; one that does has the ticket
	// already. It is a header because the body under one key never changes.
	headerDoubt   = "Ticketrail-Possible-Duplicate"
	headerAttempt = "Ticketrail-Attempt" // 1 for the first
)

// A Display is a station that posts its tickets to a third-party kitchen display, one at a time. It is
// safe for concurrent use.
type Display struct {
	o   Options
	url *url.URL

	mu    sync.Mutex // guards pause
	pause Pause
}

// A Pause is a time in which no ticket is posted. The zero Pause is none.
type Pause struct {
	Until time.Time // the first ticket after this is posted
	// Refusal is the answer by which the display takes no tickets until a person has repaired something. It
	// stays after Until, until another answer comes. Nil: the display asked for the pause.
	Refusal error
	Since   time.Time // when it began to refuse them
}

// Pause returns the current pause.
func (s *Display) Pause() Pause {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pause
}

// EndPause ends a pause, because a person has repaired something: the next ticket is posted at once.
func (s *Display) EndPause() { s.setPause(0, nil) }

// New checks the URL. Errors never contain the whole URL: its path may be a secret.
func New(o Options) (*Display, error) {
	parsed, err := url.Parse(o.URL)
	switch {
	case o.URL == "":
		return nil, errors.New("url: is missing; for example https://kds.example/api/tickets")
	case err != nil:
		// err contains the whole URL
		return nil, errors.New("url: not a URL; want one like https://kds.example/api/tickets")
	case parsed.Scheme != "https" && parsed.Scheme != "http":
		return nil, fmt.Errorf("url: begins with %.20q; want one like https://kds.example/api/tickets", parsed.Scheme)
	case parsed.Host == "":
		return nil, errors.New("url: names no host; want one like https://kds.example/api/tickets")
	case parsed.User != nil:
		return nil, errors.New("url: holds a user or a password; put a token into token_file")
	}

	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}

	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	return &Display{o: o, url: parsed}, nil
}

// Idempotent reports that a ticket may be posted again after an attempt that broke: it has the same
// key, by which the display recognises it. So however often that happens, the ticket needs no mark
// and no decision of a person. At another station it would be a second copy, and is marked.
func (*Display) Idempotent() bool { return true }

// Print posts one ticket. begin is called when the connection is open and before the first byte of
// the ticket is sent.
//
// The proof is [ticket.Taken]: the display answered 2xx, or 409, which says that it has a ticket of
// this key. [ticket.IsUntouched] marks an answer which says that the ticket was not taken. Of these,
// [ticket.IsNotReady] says that the display takes no ticket until a person has repaired something (401 to
// 405), [ticket.IsPermanent] that it will never take this one (other 4xx). Without a request,
// [ticket.IsNotReady] marks a file that cannot be read, and a pause. Any other error after begin leaves
// doubt: the display may have the ticket. All but the refusal of one ticket are tried again under the same
// key.
func (s *Display) Print(
	ctx context.Context, d ticket.Delivery, begin func(context.Context) error,
) (ticket.Proof, error) {
	if err := s.awaitPause(ctx); err != nil {
		return "", err
	}

	// A file that cannot be read is a mistake here, not at the display: the ticket waits until an
	// operator has repaired it.
	read, err := readCredentials(s.o)
	if err != nil {
		return "", ticket.NotReady(s.errorf("%w", err))
	}

	// The raw record is an addition that a display may use; the ticket must not wait for it.
	var raw json.RawMessage
	if s.o.Raw != nil {
		raw = s.o.Raw(ctx, d)
	}

	body, err := json.Marshal(NewDocument(d, raw))
	if err != nil {
		return "", ticket.Permanent(s.errorf("compose document: %w", err))
	}

	transport := s.transport(read.tls)
	defer transport.CloseIdleConnections() // and ends a connecting that goes on although the time is over

	var stored error
	answer, err := webhook.Post(ctx, transport, s.url, webhook.Message{
		ID: deliveryKey(d), Body: body, Header: headers(d, read.token), Keys: read.keys, Secrets: []string{read.token},
		Begin: func(ctx context.Context) error { stored = begin(ctx); return stored }, Timeout: s.o.Timeout,
	})

	switch {
	case stored != nil: // the disk's fault, and not the display's
		return "", fmt.Errorf("begin: %w", stored)
	case err != nil:
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
			err = fmt.Errorf("its certificate is signed by an unknown authority; "+
				"put that authority's certificate into ca_file: %w", err)
		}
		return "", s.errorf("%w", err)
	}

	if err := s.interpret(answer); err != nil {
		return "", err
	}
	return ticket.Taken, nil
}

func headers(d ticket.Delivery, token string) http.Header {
	header := http.Header{headerKey: {deliveryKey(d)}, headerAttempt: {strconv.Itoa(d.Attempt)}}

	if d.Doubt {
		header.Set(headerDoubt, "true")
	}

	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return header
}

// errorf names the display by scheme and host only: the rest of its address may be secret.
func (s *Display) errorf(format string, args ...any) error {
	return fmt.Errorf("display at %s: "+format, append([]any{s.url.Scheme + "://" + s.url.Host}, args...)...)
}

// maxInlineWait is how long a wait may be to be spent within an attempt. During a longer one the
// station reports that it is not ready, so that its backup can take over.
const maxInlineWait = 5 * time.Second

// awaitPause waits until the pause is over.
func (s *Display) awaitPause(ctx context.Context) error {
	pause := s.Pause()
	wait := time.Until(pause.Until)

	switch {
	case wait <= 0:
		return nil
	case pause.Refusal != nil: // the same error each time, so that it is logged once
		return ticket.NotReady(pause.Refusal)
	case wait > maxInlineWait:
		return ticket.NotReady(s.errorf("it asked for a pause (Retry-After): next attempt in %v",
			wait.Round(time.Second)))
	}

	timer := time.NewTimer(wait)
	defer timer.Stop()

	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return s.errorf("wait for Retry-After: %w", context.Cause(ctx))
	}
}
