package notify

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
)

func TestTheServicesOfTheLibraryGetTitleAndText(t *testing.T) {
	for name, c := range map[string]struct{ address, answer, path string }{
		"ntfy": {"ntfy://HOST/harbour-grill-8fk2?scheme=http", `{"id":"x","time":1,"event":"message","topic":"t"}`,
			"/harbour-grill-8fk2"},
		"telegram": {"telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1@telegram?chats=@harbour",
			`{"ok":true,"result":{"message_id":1}}`, "/sendMessage"},
		"slack": {"slack://hook:T00000000-B00000000-abcdefghijklmnopqrstuvwx@webhook", "ok",
			"/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx"},
	} {
		t.Run(name, func(t *testing.T) {
			s, got := server(t, 200, c.answer)
			elsewhere(t, s)
			address := strings.Replace(c.address, "HOST", strings.TrimPrefix(s.URL, "http://"), 1)
			assert.NoError(t, deliver(t, address))
			assert.True(t, strings.HasSuffix(got.URL.Path, c.path), got.URL)
			assert.Contains(t, string(got.body), "close the cover")
			assert.Contains(t, got.Header.Get("Title")+string(got.body), "grill: it reports: cover open")
		})
	}
}

func TestAWorkflowOfTeamsGetsAnAdaptiveCard(t *testing.T) {
	s, got := server(t, 202, "")
	assert.NoError(t, deliver(t, "teams+"+s.URL+"/workflows/abc?sig=secretsig"))
	var said struct {
		Type        string
		Attachments []struct {
			ContentType string
			Content     struct {
				Type, Version string
				Body          []struct{ Type, Text string }
			}
		}
	}
	err := json.Unmarshal(got.body, &said)
	assert.True(t, err == nil && got.URL.RawQuery == "sig=secretsig" && said.Type == "message" &&
		len(said.Attachments) == 1 && said.Attachments[0].ContentType == "application/vnd.microsoft.card.adaptive" &&
		said.Attachments[0].Content.Type == "AdaptiveCard" && len(said.Attachments[0].Content.Body) == 2 &&
		said.Attachments[0].Content.Body[0].Text == message().Title, err, got.URL, got.body)
}

func TestAWebhookGetsTheMessageSignedAndWithTheSameIDAgain(t *testing.T) {
	s, got := server(t, 204, "")
	ids := map[string]bool{}
	for range 2 {
		assert.NoError(t, deliver(t, s.URL+"/hook?token=t0ps3cret"))
		ids[got.Header.Get("webhook-id")] = true
	}
	var said struct {
		Type string
		Data Message
	}
	err := json.Unmarshal(got.body, &said)
	assert.True(t, err == nil && said.Type == "ticketrail.notice" && said.Data.Title == message().Title &&
		said.Data.Began[0].Subject == "grill" && got.Header.Get("webhook-signature") != "" && len(ids) == 1 &&
		!ids[""], err, ids, got.body)
}

func TestMailGetsSubjectAndText(t *testing.T) {
	host, b := mailServer(t, "pa55word")
	err := deliver(t, "smtp://boss:pa55word@"+host+"/?from=rail@box.example&to=boss@home.example&starttls=no")
	assert.NoError(t, err)
	b.mu.Lock()
	defer b.mu.Unlock()
	m, err := mail.ReadMessage(strings.NewReader(b.data))
	assert.NoError(t, err)
	text, _ := io.ReadAll(m.Body)
	t.Log(b.data)
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	assert.True(t, err == nil && subject == message().Title && !strings.Contains(b.data[:strings.Index(b.data,
		"\r\n\r\n")], "ä"), err, subject)
	assert.True(t, b.from == "rail@box.example" && len(b.to) == 1 && b.to[0] == "boss@home.example" &&
		strings.Contains(string(text), "close the cover"), b.from, b.to, b.data)
}

func TestNoErrorContainsASecret(t *testing.T) {
	refuse, _ := server(t, 403, "")
	secrets := []string{"t0ps3cret", "pa55word", "110201543", "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1", "T00000000",
		"abcdefghijklmnopqrstuvwx", "harbour-grill-8fk2", "home.example"}
	repeats, _ := server(t, 500, strings.Join(secrets, "\x1b[1m ")+" "+refuse.URL+"/x?token=t0ps3cret")
	mailHost, _ := mailServer(t, "other")
	host := strings.TrimPrefix(repeats.URL, "http://")
	nobody := httptest.NewServer(nil)
	nobody.Close()
	off := strings.TrimPrefix(nobody.URL, "http://") // refuses connections
	fixed := []string{                               // the server is not in the address
		"telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1@telegram?chats=@harbour-grill-8fk2",
		"slack://hook:T00000000-B00000000-abcdefghijklmnopqrstuvwx@webhook",
		"pushover://shoutrrr:abcdefghijklmnopqrstuvwx@t0ps3cret/",
	}
	addresses := []string{
		repeats.URL + "/hook/harbour-grill-8fk2?token=t0ps3cret&x=110201543",
		"http://" + off + "/hook/t0ps3cret",
		"teams+" + repeats.URL + "/t0ps3cret",
		"teams+http://" + off + "/t0ps3cret",
		"ntfy://user:t0ps3cret@" + host + "/harbour-grill-8fk2?scheme=http",
		"ntfy://user:t0ps3cret@" + off + "/harbour-grill-8fk2?scheme=http",
		"smtp://boss:pa55word@" + mailHost + "/?from=rail@box.example&to=boss@home.example&starttls=no",
		"smtp://boss:pa55word@" + off + "/?from=rail@box.example&to=boss@home.example",
		"gotify://" + host + "/AbcDefGh1234567?disabletls=yes",
		"gotify://" + off + "/AbcDefGh1234567?disabletls=yes",
	}
	tried := map[string]bool{}
	try := func(address string) {
		scheme, _, _ := strings.Cut(address, ":")
		tried[scheme] = true
		err := deliver(t, address)
		if err == nil {
			t.Errorf("%s: it was not delivered, and there is no error", scheme)
			return
		}
		t.Log(scheme, err)
		for _, secret := range append(secrets, "AbcDefGh1234567") {
			// A word of the server's own is no secret of this address.
			assert.True(t, !strings.Contains(address, secret) || !strings.Contains(err.Error(), secret), scheme, err)
		}
		assert.True(t, !strings.ContainsRune(err.Error(), '\x1b'), err)
	}
	for _, address := range addresses {
		try(address)
	}
	for _, s := range []*httptest.Server{repeats, nobody} {
		elsewhere(t, s)
		for _, address := range fixed {
			try(address)
		}
	}
	for scheme := range forms {
		assert.True(t, tried[scheme] || strings.HasSuffix(scheme, "https"), "is not tried", scheme)
	}
}

func TestAnAddressThatIsNoneIsAProblemWithoutItsSecrets(t *testing.T) {
	for address, want := range map[string]string{
		"boss@home.example":                       "does not begin with one of",
		"logger://t0ps3cret":                      "does not begin with one of",
		"nfty://ntfy.sh/t0ps3cret":                "did you mean ntfy?",
		"teams://t0ps3cret@x/y/z":                 "teams+https",
		"telegram://t0ps3cret@telegram":           "is not of the form telegram://TOKEN@telegram?chats=CHAT",
		"telegram://t0ps3cret@telegram?chats=a,b": "with one chat",
		"slack://t0ps3cret":                       "is not of the form slack://hook:A-B-C@webhook",
		"smtp://u:t0ps3cret@host/":                "is not of the form smtp://",
		"https:///t0ps3cret":                      "is not of the form https://HOST/PATH",
		"ntfy://%zzt0ps3cret":                     "is not of the form ntfy://ntfy.sh/TOPIC",
		"teams+https:///t0ps3cret":                "is not of the form teams+https://HOST/PATH",
	} {
		conf := &config.Config{}
		conf.Notify.To = []config.Recipient{recipient1(t, address)}
		ps := Problems(conf)
		assert.True(t, len(ps) == 1 && ps[0].Path == "notify.to[0].url" && strings.Contains(ps[0].Msg, want) &&
			!strings.Contains(ps[0].Msg, "t0ps3cret"), want, ps)
		t.Log(ps)
	}
	secret := config.NewSecret("t0ps3cret")
	conf := &config.Config{Outcomes: config.Outcomes{Keys: secret}}
	conf.Notify.To = []config.Recipient{{Address: config.NewSecret("https://host/"), Keys: secret}}
	got := fmt.Sprint(Problems(conf))
	assert.True(t, strings.Count(got, "want whsec_") == 2 && strings.Contains(got, "notify.to[0].secret_file") &&
		strings.Contains(got, "outcomes.secret_file") && !strings.Contains(got, "t0ps3cret"), got)
}

func TestAServerThatNeverAnswersHoldsOnlyAFewCalls(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	defer l.Close() // it accepts in the kernel and says nothing
	send := viaShoutrrr("smtp://" + l.Addr().String() + "/?from=a@b.example&to=c@d.example")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 4 {
		err := send(ctx, message())
		assert.True(t, err != nil && strings.Contains(err.Error(), "no answer"), err)
	}
	err = send(ctx, message())
	assert.True(t, err != nil && strings.Contains(err.Error(), "last attempts"), err)
}

const vectorKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func recipient1(t *testing.T, address string) config.Recipient {
	t.Helper()
	r := config.Recipient{Name: "boss", Address: config.NewSecret(address)}
	if strings.HasPrefix(address, "http") {
		r.Keys = config.NewSecret(vectorKey)
	}
	return r
}

func message() *Message {
	m := &Message{Began: []Event{{Finding: finding.Finding{Level: finding.Fail, Subject: "grill", Station: true,
		Since: time.Date(2026, 11, 20, 19, 32, 0, 0, time.UTC), Text: "it reports: cover open",
		Do: "close the cover"}}}}
	m.describe("Zum Wilden Käse", time.Date(2026, 11, 20, 19, 40, 0, 0, time.UTC), time.UTC)
	return m
}

// deliver sends one message and returns the error.
func deliver(t *testing.T, address string) error {
	t.Helper()
	send, err := newSender(recipient1(t, address))
	assert.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return send(ctx, message())
}

// A request is one that a server got.
type request struct {
	*http.Request
	body []byte
}

// server answers every request with status and answer, and keeps the last.
func server(t *testing.T, status int, answer string) (*httptest.Server, *request) {
	last := &request{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last.Request = r
		last.body, _ = io.ReadAll(r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s, last
}

// elsewhere sends all requests of the library to a server: the addresses of Telegram and Slack are fixed.
func elsewhere(t *testing.T, s *httptest.Server) {
	t.Helper()
	front := httptest.NewTLSServer(s.Config.Handler)
	t.Cleanup(front.Close)
	to := front.Listener.Addr().String()
	if s.Config.Handler == nil { // a closed one
		front.Close()
	}
	was := http.DefaultTransport
	http.DefaultTransport = &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, to)
		},
	}
	t.Cleanup(func() { http.DefaultTransport = was })
}

// A mailbox has the mail that a server of another author got.
type mailbox struct {
	mu       sync.Mutex
	password string // of user boss; empty: none is needed
	from     string
	to       []string
	data     string
}

func (b *mailbox) NewSession(*smtp.Conn) (smtp.Session, error) { return b, nil }

func (b *mailbox) AuthMechanisms() []string { return []string{sasl.Plain} }

func (b *mailbox) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "boss" || password != b.password {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}

func (b *mailbox) Mail(from string, _ *smtp.MailOptions) error { b.from = from; return nil }

func (b *mailbox) Rcpt(to string, _ *smtp.RcptOptions) error { b.to = append(b.to, to); return nil }

func (b *mailbox) Reset() {}

func (b *mailbox) Logout() error { return nil }

func (b *mailbox) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = string(text)
	return err
}

func mailServer(t *testing.T, password string) (host string, b *mailbox) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	b = &mailbox{password: password}
	s := smtp.NewServer(b)
	s.Domain, s.AllowInsecureAuth = "localhost", true
	s.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String(), b
}
