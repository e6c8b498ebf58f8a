package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/app"
	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/queuetest"
	"ticketrail/receiver"
)

// TestEachFaultIsSaidInTheSameWordsEverywhere makes faults and compares the words of the status, the page for managers,
// a message, the journal and the metric say.
func TestEachFaultIsSaidInTheSameWordsEverywhere(t *testing.T) {
	cert, key := keyPair(t, time.Now().AddDate(1, 0, 0))
	oldCert, oldKey := keyPair(t, time.Date(1999, 12, 1, 0, 0, 0, 0, time.UTC)) // the simulated year is 2000
	refuse := func(code receiver.Code) func(*testDaemon) {
		return func(k *testDaemon) { k.App.Rejects().Keep(receiver.Reject{Time: time.Now(), Code: string(code)}) }
	}
	set := func(c virtual.Condition) func(*testDaemon) {
		return func(k *testDaemon) { k.Printers["grill"].Set(c, true) }
	}
	onDisk := func(text string) func(*testDaemon) {
		return func(k *testDaemon) { k.must(os.WriteFile(k.file(), []byte(text), 0o600)) }
	}
	connect := func(dial dialer) func(*testDaemon) {
		return func(k *testDaemon) {
			k.change(func(o *app.Options) {
				o.Dialer = func(config.Printer) (transport.Dialer, error) { return dial, nil }
			})
		}
	}
	for _, c := range []struct {
		name              string
		before, make      func(*testDaemon) // the start, and after it
		id, cause, advice string
		warning           bool
	}{
		{"a printer that is off", nil, func(k *testDaemon) { k.Printers["grill"].Refuse(true) },
			"station/grill/unreachable", "unreachable", "check its power, its cable and its address", false},
		{"no paper", nil, set(virtual.PaperOut), "station/grill/paper_out", "paper out", "put in a new roll", false},
		{"no paper after a cable fault", nil, func(k *testDaemon) {
			k.Printers["grill"].Refuse(true)
			k.Advance(20 * time.Minute)
			k.Printers["grill"].Refuse(false)
			set(virtual.PaperOut)(k)
		}, "station/grill/paper_out", "paper out", "put in a new roll", false},
		{"an open cover", nil, set(virtual.CoverOpen), "station/grill/cover_open", "cover open", "close the", false},
		{"a printer that hangs", nil, func(k *testDaemon) { k.Printers["grill"].Stall() },
			"station/grill/hung", "hung", "switch it off", false},
		{"no USB printer", connect(func(ctx context.Context) (transport.Conn, error) {
			d, err := transport.Open("usb://ffff:ffff")
			if err != nil {
				return nil, err
			}
			return d.Dial(ctx)
		}), nil, "station/grill/unreachable", "unreachable", "check its power, its cable and its address", false},
		{"a web server at the printer's address", connect(dialWebServer), nil, "station/grill/not_a_printer",
			"not a printer", "check its address and its port", false},
		{"a held station", nil, func(k *testDaemon) {
			k.must(k.App.Queue().HoldStation(k.T.Context(), "grill", "cleaning"))
		}, "station/grill/on_hold", "held: cleaning", "printers resume grill", false},
		{"a wrong secret", nil, refuse(receiver.WrongPath), "orders/refused/wrong_secret",
			"1 request refused: wrong secret in the address", "ticketrail venues list", false},
		{"an unknown venue", nil, refuse(receiver.VenueNotAllowed), "orders/refused/unknown_venue",
			"1 request refused: the venue is not in the configuration", "to venues", false},
		{"another address", nil, refuse(receiver.AddressNotAllowed), "orders/refused/address",
			"1 request refused: sent from an address that is not allowed", "receiver.allow_from", false},
		{"a header that a proxy removed", nil, refuse(receiver.VenueMissing), "orders/refused/header_missing",
			"1 request refused: without the header that names the venue", "pass on all headers", false},
		{"orders that cannot be read", nil, func(k *testDaemon) { k.Send(`{"records":7}`) },
			"orders/refused/schema_mismatch", "1 request refused: schema mismatch", "ticketrail rejects", false},
		{"silence", func(k *testDaemon) { k.Conf.Venues[0].Hours = []config.Hours{hours(t, "daily 00:00-24:00")} },
			func(k *testDaemon) { k.Advance(2 * time.Hour) }, "orders/silent/Harbour Grill",
			"nothing came for Harbour Grill, although it is open", "internet connection", true},
		{"a damaged database", func(k *testDaemon) {
			k.must(os.WriteFile(k.Conf.Storage.Path, make([]byte, 20_000), 0o600))
		}, nil, "database/damaged/t.db.corrupt-20000101T000000Z", "a damaged database was put aside",
			"ask the kitchen", false},
		{"a certificate that cannot be read", func(k *testDaemon) {
			k.Conf.Receiver.TLS.CertFile, k.Conf.Receiver.TLS.KeyFile = cert, key
		}, func(k *testDaemon) { k.must(os.WriteFile(cert, nil, 0o600)) }, "certificate/unreadable/webhook",
			"webhook: it cannot be read", "renew ", false},
		{"a certificate that has expired", func(k *testDaemon) {
			k.Conf.Receiver.TLS.CertFile, k.Conf.Receiver.TLS.KeyFile = oldCert, oldKey
		}, nil, "certificate/expired/webhook", "webhook: it expired", "renew ", false},
		{"a typo in the file", nil, onDisk("printer: []"), "config/invalid", "configuration on disk is refused",
			"correct it", false},
		{"a time zone that does not exist", nil, onDisk(grillOnly + "venues: [ { id: " + otherVenue +
			", name: Grill, timezone: Australia/Melborne } ]\n"), "config/invalid", "configuration on disk is refused",
			"correct it", false},
		{"a secret that was removed", nil, onDisk(grillOnly + "receiver: { secret_file: removed }"),
			"config/secret_missing", "configuration on disk is refused: bad secret or certificate", "correct it",
			false},
		{"a configuration that cannot be read", nil, func(k *testDaemon) { k.must(os.Mkdir(k.file(), 0o700)) },
			"config/unreadable", "configuration on disk is refused: it cannot be read", "correct it", false},
		{"no token for the relay", withRelay, nil, "relay/no_token", "no order can be fetched",
			"ticketrail relay venues add", false},
		{"a clock without a time server", func(k *testDaemon) {
			k.change(func(o *app.Options) { o.Clock = unsynced{} })
		}, nil, "clock/not_synchronized", "it may be wrong, it is not synchronized", "timesyncd", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			mails, log := &mailbox{}, &queuetest.Log{}
			was := http.DefaultTransport
			http.DefaultTransport = mails
			defer func() { http.DefaultTransport = was }()
			runDaemonWith(t, func(k *testDaemon) {
				withCapability(virtual.Everything)(k)
				k.Conf.Notify.To = []config.Recipient{{Name: "phone", Address: config.NewSecret("https://127.0.0.1:1/"),
					Keys: config.NewSecret("whsec_" + strings.Repeat("QUJD", 8))}}
				k.change(func(o *app.Options) { o.Log = log })
				if strings.HasPrefix(c.id, "config/") {
					k.change(func(o *app.Options) { o.ConfigPath = k.file() })
				}
				if c.before != nil {
					c.before(k)
				}
			}, func(k *testDaemon) {
				if c.make != nil {
					c.make(k)
				}
				k.Advance(20 * time.Minute)

				i := slices.IndexFunc(k.findings(), func(f finding.Finding) bool { return f.ID == c.id })
				if i < 0 {
					k.T.Fatalf("found %+v", k.findings())
				}
				f := k.findings()[i]
				level, severity := "ERROR", finding.Fail
				if c.warning {
					level, severity = "WARN", finding.Warn
				}
				if !strings.HasPrefix(f.Text, c.cause) || !strings.Contains(f.Do, c.advice) || f.Level != severity ||
					f.Since.IsZero() {
					t.Errorf("%+v, want %+v", f, c)
				}
				k.wantMetric(1, "ticketrail_finding", c.id, string(severity))
				page := httptest.NewRecorder()
				k.App.Control().(*admin.Server).ServePage(page, httptest.NewRequest("GET", "/state", nil), "anna")
				said := map[string]string{"the page": page.Body.String(), "the message": mails.String()}
				for where, text := range said {
					for _, want := range []string{f.ID, f.Text, f.Do} {
						b, err := json.Marshal(want)
						if k.must(err); !strings.Contains(text, string(b)) {
							t.Errorf("%s lacks %s:\n%s", where, b, text)
						}
					}
				}
				if line := "level=" + level + ` msg="a finding has begun" component=notify finding=`; !strings.Contains(
					strings.ReplaceAll(log.String(), `"`+c.id+`"`, c.id), line+c.id) {
					t.Errorf("the journal lacks %s%s:\n%s", line, c.id, log)
				}
			}, "grill", "bar")
		})
	}
}

// file is a configuration file beside the database.
func (k *testDaemon) file() string { return filepath.Join(filepath.Dir(k.Conf.Storage.Path), "t.yaml") }

// A dialer connects to whatever is at the address of a printer.
type dialer func(context.Context) (transport.Conn, error)

func (d dialer) Dial(ctx context.Context) (transport.Conn, error) { return d(ctx) }

// A webConn is a connection to a web server.
type webConn struct{ net.Conn }

func (c webConn) Finish(context.Context) error { return c.Close() }

// dialWebServer connects to a web server, which answers a printer's commands with an error.
func dialWebServer(context.Context) (transport.Conn, error) {
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		_, _ = there.Read(make([]byte, 512))
		_, _ = io.WriteString(there, "HTTP/1.1 400 Bad Request\r\nServer: nginx\r\nConnection: close\r\n\r\n")
	}()
	return webConn{here}, nil
}

// unsynced is a clock without a time server.
type unsynced struct{}

func (unsynced) Now() time.Time     { return time.Now() }
func (unsynced) Synchronized() bool { return false }

// A mailbox takes the posted messages.
type mailbox struct {
	mu  sync.Mutex
	got bytes.Buffer
}

func (m *mailbox) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.got.ReadFrom(r.Body)
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("")), Request: r}, err
}

func (m *mailbox) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.got.String()
}
