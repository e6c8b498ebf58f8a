package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"ticketrail/config"
	"ticketrail/printer/webhook"
)

// A sender delivers one message. Its errors contain no secret.
type sender func(context.Context, *Message) error

// Problems are the mistakes in the addresses and secrets of notify and outcomes that package config cannot find,
// because it does not know their forms. Nothing is sent.
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

	if outcomes := conf.Outcomes; outcomes.Keys.Reveal() != "" {
		if _, err := webhook.ReadKeys(outcomes.Keys.Reveal()); err != nil {
			out = append(out, config.Problem{Path: "outcomes.secret_file", Msg: fmt.Sprintf("%v: %v", errSecret, err)})
		}
	}
	return out
}

var errSecret = errors.New("is not a file of secrets")

// forms are the addresses that there are. The library knows more; for these a test shows that a message that did not
// arrive is an error, at once.
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
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" {
		return nil, wrong
	}

	switch scheme {
	case "http", "https":
		keys, err := webhook.ReadKeys(to.Keys.Reveal())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errSecret, err)
		}
		return signed(address, keys), nil
	case "teams+http", "teams+https":
		return teams(strings.TrimPrefix(scheme, "teams+") + "://" + rest), nil
	case "telegram":
		chat := parsed.Query().Get("chats")
		if parsed.User.String() == "" || chat == "" || strings.Contains(chat, ",") {
			return nil, wrong
		}
		return telegram(address, parsed.User.String(), chat), nil
	}
	if _, err := new(router.ServiceRouter).Locate(address); err != nil {
		return nil, wrong
	}

	return viaShoutrrr(address), nil
}

// Test sends a message without any trouble to a recipient, for somebody who has just written its address.
func Test(ctx context.Context, place string, to config.Recipient) error {
	send, err := newSender(to)
	if err != nil {
		return err
	}

	host, _ := os.Hostname()
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return send(ctx, &Message{Place: place, Host: host, At: time.Now(), Title: place + ": a test message",
		Text: "ticketrail will write here when something in the kitchen needs a person."})
}

// viaShoutrrr sends through shoutrrr. Its calls take no context, and those for mail wait for a server for as long
// as it keeps the connection. So a call that takes too long is left behind; there are never more than a few.
func viaShoutrrr(address string) sender {
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
				return errors.New(webhook.Redact(err.Error(), webhook.Pieces(address)...))
			}
			return nil
		case <-ctx.Done():
			return fmt.Errorf("no answer: %w", ctx.Err())
		}
	}
}

// signed posts the message as JSON to a webhook. A message that is sent again has the same id, by which the receiver
// can recognize it.
func signed(address string, keys webhook.Keys) sender {
	return func(ctx context.Context, m *Message) error {
		return postJSON(ctx, address, webhook.Message{ID: m.id(), Keys: keys}, struct {
			Type      string    `json:"type"`
			Timestamp time.Time `json:"timestamp"`
			Data      *Message  `json:"data"`
		}{"ticketrail.notice", m.At, m}) // the type of each message; programs know it
	}
}

// id is the same for the same events.
func (m *Message) id() string {
	hash := sha256.New()
	if len(m.Began)+len(m.Ended) == 0 {
		fmt.Fprintln(hash, m.Host, m.At.UnixNano()) // of Test
	}

	for _, e := range append(m.Began, m.Ended...) {
		fmt.Fprintln(hash, m.Host, e.ID, e.Level, e.Since.UnixNano(), e.Again)
	}
	return "msg_" + hex.EncodeToString(hash.Sum(nil)[:16])
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
		return postJSON(ctx, address, webhook.Message{}, block{"type": "message", "attachments": []block{
			{"contentType": "application/vnd.microsoft.card.adaptive", "content": card},
		}})
	}
}

// telegram does not use the library, which takes a server that cannot be reached for a success.
func telegram(address, token, chat string) sender {
	return func(ctx context.Context, m *Message) error {
		return postJSON(ctx, "https://api.telegram.org/bot"+token+"/sendMessage",
			webhook.Message{Secrets: webhook.Pieces(address)},
			map[string]string{"chat_id": chat, "text": m.Title + "\n\n" + m.Text})
	}
}

// postJSON posts message, with body as JSON.
func postJSON(ctx context.Context, address string, message webhook.Message, body any) (err error) {
	if message.Body, err = json.Marshal(body); err != nil {
		return err
	}
	return webhook.Deliver(ctx, http.DefaultTransport, address, message)
}
