package notify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"ticketrail/config"
	"ticketrail/printer/push"
)

// A sender delivers one message. Its errors contain no secret.
type sender func(context.Context, *Message) error

// Problems are the mistakes in addresses, which the package config cannot find because it does not know
// their forms. Nothing is sent.
func Problems(conf *config.Config) (out []config.Problem) {
	for i, to := range conf.Notify.To {
		if to.Address.Reveal() == "" { // it could not be read, which is reported already
			continue
		}
		if _, err := newSender(to); err != nil {
			key := "url"
			if to.URLFile != "" {
				key = "url_file"
			}
			if errors.Is(err, errSecret) {
				key = "secret_file"
			}
			out = append(out, config.Problem{Path: fmt.Sprintf("notify.to[%d].%s", i, key), Msg: err.Error()})
		}
	}
	if o := conf.Outcomes; o.Keys.Reveal() != "" {
		if _, err := push.ReadSecrets(o.Keys.Reveal()); err != nil {
			out = append(out, config.Problem{Path: "outcomes.secret_file", Msg: fmt.Sprintf("%v: %v", errSecret, err)})
		}
	}
	return out
}

var errSecret = errors.New("is not a file of secrets")

// forms are the addresses that there are. The library knows more; these are the ones of which a test shows
// that a message that did not arrive is an error, at once.
var forms = map[string]string{
	"https":       "https://HOST/PATH",
	"http":        "http://HOST/PATH",
	"teams+https": "teams+https://HOST/PATH, the URL of a workflow",
	"teams+http":  "teams+https://HOST/PATH, the URL of a workflow",
	"telegram":    "telegram://TOKEN@telegram?chats=CHAT, with one chat",
	"smtp":        "smtp://USER:PASSWORD@HOST:587/?from=A@B&to=C@D",
	"ntfy":        "ntfy://ntfy.sh/TOPIC",
	"slack":       "slack://hook:A-B-C@webhook",
	"gotify":      "gotify://HOST/TOKEN",
	"pushover":    "pushover://shoutrrr:TOKEN@USER",
}

// newSender makes the sender of a recipient, without connecting to it.
func newSender(to config.Recipient) (sender, error) {
	address := to.Address.Reveal()
	scheme, rest, _ := strings.Cut(address, "://")
	form := forms[scheme]
	if form == "" {
		known := slices.Sorted(maps.Keys(forms))
		return nil, fmt.Errorf("does not begin with one of %s, each followed by ://%s",
			strings.Join(known, ", "), config.DidYouMean(scheme, known))
	}
	wrong := fmt.Errorf("is not of the form %s", form)
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil, wrong
	}
	switch scheme {
	case "http", "https":
		keys, err := push.ReadSecrets(to.Keys.Reveal())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errSecret, err)
		}
		return webhook(address, keys), nil
	case "teams+http", "teams+https":
		return teams(strings.TrimPrefix(scheme, "teams+") + "://" + rest), nil
	case "telegram":
		chat := u.Query().Get("chats")
		if u.User.String() == "" || chat == "" || strings.Contains(chat, ",") {
			return nil, wrong
		}
		return telegram(address, "https://api.telegram.org/bot"+u.User.String()+"/sendMessage", chat), nil
	}
	if _, err := new(router.ServiceRouter).Locate(address); err != nil {
		return nil, wrong
	}
	return library(address), nil
}

// library sends through shoutrrr. Its calls take no context, and those for mail wait for a server for as long
// as it keeps the connection. So a call that takes too long is left behind; there are never more than a few.
func library(address string) sender {
	const mayHang = 4
	running := make(chan struct{}, mayHang)
	return func(ctx context.Context, m *Message) error {
		select {
		case running <- struct{}{}:
		default:
			return errors.New("the server has not answered to the last attempts")
		}
		result := make(chan error, 1)
		go func() {
			defer func() { <-running }()
			// A service of its own for each call, because it changes while it sends.
			service, err := new(router.ServiceRouter).Locate(address)
			if err == nil {
				title := m.Title
				if service.GetID() == "smtp" { // it writes the subject as it is
					title = mime.QEncoding.Encode("utf-8", title)
				}
				err = service.Send(m.Text, &types.Params{types.TitleKey: title})
			}
			result <- err
		}()
		select {
		case err := <-result:
			if err != nil {
				return errors.New(redact(err.Error(), address))
			}
			return nil
		case <-ctx.Done():
			return fmt.Errorf("no answer: %w", ctx.Err())
		}
	}
}

// webhook posts the message as JSON, signed as Standard Webhooks. A message that is sent again has the same
// id, by which the receiver can recognize it.
func webhook(address string, keys push.Signer) sender {
	return func(ctx context.Context, m *Message) error {
		body, err := json.Marshal(struct {
			Type      string    `json:"type"`
			Timestamp time.Time `json:"timestamp"`
			Data      *Message  `json:"data"`
		}{"ticketrail.notice", m.At, m})
		if err != nil {
			return err
		}
		return PostSigned(ctx, address, keys, m.id(), body)
	}
}

// PostSigned posts JSON to a webhook, signed as Standard Webhooks. It is an error if it is not answered 2xx. Errors
// contain nothing of the address but its host.
func PostSigned(ctx context.Context, address string, keys push.Signer, id string, body []byte) error {
	return post(ctx, address, body, func(h http.Header) { keys.Sign(h, id, time.Now(), body) })
}

// id is the same for the same events.
func (m *Message) id() string {
	h := sha256.New()
	for _, e := range append(m.Began, m.Ended...) {
		fmt.Fprintln(h, m.Host, e.Topic, e.Station, e.Level, e.Since.UnixNano())
	}
	return "msg_" + hex.EncodeToString(h.Sum(nil)[:16])
}

// teams posts an adaptive card to a workflow of Microsoft Teams ("when a Teams webhook request is received").
// The connectors that shoutrrr knows were switched off by Microsoft.
func teams(address string) sender {
	type block map[string]any
	return func(ctx context.Context, m *Message) error {
		card := block{"type": "AdaptiveCard", "version": "1.4", "body": []block{
			{"type": "TextBlock", "text": m.Title, "weight": "bolder", "wrap": true},
			{"type": "TextBlock", "text": strings.ReplaceAll(m.Text, "\n", "\n\n"), "wrap": true}, // Markdown
		}}
		body, err := json.Marshal(block{"type": "message", "attachments": []block{
			{"contentType": "application/vnd.microsoft.card.adaptive", "content": card},
		}})
		if err != nil {
			return err
		}
		return post(ctx, address, body, func(http.Header) {})
	}
}

// telegram sends by itself: the library takes a server that cannot be reached for a success.
func telegram(address, endpoint, chat string) sender {
	return func(ctx context.Context, m *Message) error {
		body, err := json.Marshal(map[string]string{"chat_id": chat, "text": m.Title + "\n\n" + m.Text})
		if err != nil {
			return err
		}
		if err := post(ctx, endpoint, body, func(http.Header) {}); err != nil {
			return errors.New(redact(err.Error(), address))
		}
		return nil
	}
}

// post follows no redirect: it would send the message, and the secret path, to another server.
func post(ctx context.Context, address string, body []byte, sign func(http.Header)) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New(redact(err.Error(), address))
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "ticketrail")
	sign(r.Header)
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := c.Do(r)
	if err != nil {
		return errors.New(redact(err.Error(), address))
	}
	defer a.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(a.Body, 512))
	if a.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %s", redact(a.Status+": "+string(said), address))
	}
	return nil
}

var urls = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"]+`)

// redact removes from a message everything of an address but its server. Libraries and servers repeat URLs,
// and parts of them that they decoded or composed anew. So every URL goes, and each longer piece of the address.
func redact(msg, address string) string {
	msg = urls.ReplaceAllString(msg, "[url]")
	_, rest, _ := strings.Cut(address, "://")
	plain, err := url.QueryUnescape(rest)
	if err != nil {
		plain = rest
	}
	shown := []string{"hook", "webhook"} // words of the forms
	var secrets []string
	if u, err := url.Parse(address); err == nil {
		shown = append(shown, u.Hostname(), u.Port())
		password, _ := u.User.Password() // it may have separators
		secrets = append(secrets, password)
	}
	for _, separators := range []string{"/?&=:@#,+", "/?&=:@#,+-"} { // Slack's secret has three parts
		secrets = append(secrets, strings.FieldsFunc(rest+"&"+plain, func(r rune) bool {
			return strings.ContainsRune(separators, r)
		})...)
	}
	for _, s := range secrets {
		if len(s) >= 4 && !slices.Contains(shown, s) {
			msg = strings.ReplaceAll(msg, s, "[secret]")
		}
	}
	msg = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, msg)
	if r := []rune(msg); len(r) > 300 {
		msg = string(r[:300]) + "…"
	}
	return msg
}
