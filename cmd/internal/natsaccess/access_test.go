package natsaccess

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ticketrail/deploy/slow"
	"ticketrail/receiver/relay/natstest"
)

const (
	mine   = "11111111-1111-4111-8111-111111111111"
	theirs = "22222222-2222-4222-8222-222222222222"
)

func TestABoxReadsAndChangesNothingOfAnotherVenue(t *testing.T) {
	slow.Test(t, "go")
	t.Parallel()
	s := newSite(t, 3)
	stream, err := s.js.Stream(t.Context(), "REQUESTS")
	if err != nil {
		t.Fatal(err)
	}
	// The other box has its request in hand: an acknowledgement that is believed would lose it.
	other, err := s.js.Consumer(t.Context(), "REQUESTS", theirs)
	if err != nil {
		t.Fatal(err)
	}
	inHand, err := other.Next(jetstream.FetchMaxWait(testTime))
	if err != nil {
		t.Fatal(err)
	}
	ack := inHand.Reply()
	// Once as it is, and once as if a box's permissions had been forgotten: the wall is the venue's account.
	everything, _, err := s.o.credentials(mine, mine, func(*jwt.UserClaims) {})
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{
		"with a box's permissions": s.box(mine), "without permissions": s.file("everything.creds", everything),
	} {
		t.Run(name, func(t *testing.T) {
			nc := s.connect(file, s.urls...)
			var heard atomic.Value
			for _, subject := range []string{">", "requests.>", "requests." + theirs + ".>", "_INBOX.>",
				"_R_.>", "$JS.>", "$KV.>", "$KV.BOXES.>", "$SYS.>", "$JS.ACK.>", "$JS.EVENT.>"} {
				if _, err := nc.Subscribe(subject, func(m *nats.Msg) {
					if string(m.Data) == "for "+theirs {
						heard.Store(m.Subject)
					}
				}); err != nil {
					t.Fatal(err)
				}
			}
			next := "$JS.API.CONSUMER.MSG.NEXT.REQUESTS."
			waiting, now := `{"batch":1,"expires":2000000000}`, `{"batch":1,"no_wait":true}`
			for _, a := range []struct{ subject, reply, body string }{
				// What is not ours.
				{next + theirs, "", now},
				{next + theirs, "", waiting},
				{"$JS.API.CONSUMER.INFO.REQUESTS." + theirs, "", ""},
				{"$JS.API.CONSUMER.CREATE.REQUESTS", "", `{"stream_name":"REQUESTS","config":{"ack_policy":"none"}}`},
				{"$JS.API.CONSUMER.CREATE.REQUESTS.x.requests." + theirs + ".>", "",
					`{"stream_name":"REQUESTS","config":{"name":"x","ack_policy":"none",` +
						`"filter_subject":"requests.` + theirs + `.>"}}`},
				{"$JS.API.CONSUMER.DURABLE.CREATE.REQUESTS.x", "",
					`{"stream_name":"REQUESTS","config":{"durable_name":"x","ack_policy":"explicit"}}`},
				{"$JS.API.CONSUMER.DELETE.REQUESTS." + theirs, "", ""},
				{"$JS.API.CONSUMER.DELETE.REQUESTS." + mine, "", ""},
				{"$JS.API.CONSUMER.NAMES.REQUESTS", "", ""},
				{"$JS.API.STREAM.INFO.REQUESTS", "", ""},
				{"$JS.API.STREAM.NAMES", "", ""},
				{"$JS.API.STREAM.MSG.GET.REQUESTS", "", `{"seq":2}`},
				{"$JS.API.STREAM.MSG.DELETE.REQUESTS", "", `{"seq":2}`},
				{"$JS.API.DIRECT.GET.REQUESTS.requests." + theirs + ".1", "", ""},
				{"$JS.API.STREAM.PURGE.REQUESTS", "", ""},
				{"$JS.API.STREAM.DELETE.REQUESTS", "", ""},
				{"$JS.API.STREAM.CREATE.MIRROR", "", `{"name":"MIRROR","mirror":{"name":"REQUESTS"}}`},
				{"requests." + theirs + ".forged", "", "{}"},
				{"requests." + mine + ".forged", "", "{}"},
				{"$KV.BOXES." + theirs, "", "I am not well"},
				{ack, "", "+ACK"},
				{ack, "", "+TERM"},
				{ack, "", "-NAK"},
				{"$JS.ACK._.x.REQUESTS." + theirs + ".1.2.1.1700000000000000000.0.x", "", "+ACK"},
				{"$SYS.REQ.CLAIMS.UPDATE", "", "x"},
				{"$SYS.REQ.SERVER.PING", "", ""},
				// What is ours, but whose answer the server publishes where it would do harm.
				{next + mine, "requests." + theirs + ".forged", now},
				{next + mine, "requests." + theirs + ".forged", `{"batch":2,"no_wait":true}`},
				{next + mine, "_INBOX.of.another", now},
				{next + mine, "$KV.BOXES." + theirs, now},
				{next + mine, "$JS.API.STREAM.DELETE.REQUESTS", now},
				{next + mine, "$JS.API.STREAM.PURGE.REQUESTS", now},
				{next + mine, next + theirs, now},
				{next + mine, "$JS.API.CONSUMER.DELETE.REQUESTS." + theirs, now},
				{next + mine, ack, now},
				{"$JS.API.CONSUMER.INFO.REQUESTS." + mine, ack, ""},
				{"$JS.ACK.REQUESTS." + mine + ".1.1.1.1700000000000000000.0", ack, "+WPI"},
				{"$JS.API.CONSUMER.INFO.REQUESTS." + mine, "requests." + theirs + ".forged", ""},
				{"$KV.BOXES." + mine, "requests." + theirs + ".forged", "well"},
				{"$JS.ACK.REQUESTS." + mine + ".1.1.1.1700000000000000000.0", "$JS.API.STREAM.DELETE.REQUESTS", "+NXT"},
				{"$JS.ACK.REQUESTS." + mine + ".1.1.1.1700000000000000000.0", "requests." + theirs + ".forged", "+WPI"},
			} {
				if a.reply == "" {
					a.reply = "_INBOX.attack"
				}
				if err := nc.PublishRequest(a.subject, a.reply, []byte(a.body)); err != nil {
					t.Fatal(err)
				}
			}
			if err := nc.Flush(); err != nil {
				t.Fatal(err)
			}
			s.unchanged(t, stream)
			if subject := heard.Load(); subject != nil {
				t.Errorf("it heard of the other venue at %s", subject)
			}
		})
	}
	// It has acknowledged its own request: that is the box's right.
	if _, err := s.js.Publish(t.Context(), "requests."+mine+".2", []byte("for "+mine)); err != nil {
		t.Fatal(err)
	}
	if got := s.take(s.connect(s.box(mine), s.urls[2]), mine); got != "for "+mine {
		t.Errorf("the box gets %q", got)
	}
	if err := inHand.DoubleAck(t.Context()); err != nil {
		t.Errorf("the other box cannot acknowledge its request: %v", err)
	}
}

func TestWhoHasNoCertificateOfOursDoesNotConnect(t *testing.T) {
	slow.Test(t, "go")
	t.Parallel()
	s := newSite(t, 3)
	c, err := ReadCredentials(s.box(mine))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := newAuthority("ticketrail relay clients")
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := foreign.client(mine)
	if err != nil {
		t.Fatal(err)
	}
	other, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	as := func(certs ...tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: c.roots, Certificates: certs, MinVersion: tls.VersionTLS12}
	}
	user := nats.UserJWT(func() (string, error) { return c.token, nil }, c.key.Sign)
	for name, conf := range map[string]*tls.Config{"without one": as(), "with that of another authority": as(other)} {
		if nc, err := nats.Connect(s.urls[0], user, nats.Secure(conf)); err == nil {
			nc.Close()
			t.Errorf("%s it connects", name)
		}
	}
	if nc, err := nats.Connect(s.urls[0], nats.Secure(as(c.cert))); err == nil {
		nc.Close()
		t.Error("with a certificate and no user it connects")
	}
	if nc, err := nats.Connect(s.urls[0], user, nats.Secure(as(c.cert)), nats.Timeout(testTime)); err != nil {
		t.Errorf("with both: %v", err)
	} else {
		nc.Close()
	}
	stranger := as(c.cert)
	stranger.RootCAs = x509.NewCertPool()
	if nc, err := nats.Connect(s.urls[0], user, nats.Secure(stranger)); err == nil {
		nc.Close()
		t.Error("a server of another authority is believed")
	}
	// The port of the cluster trusts another authority: there, a box could read everything.
	if err := joins(s.nodes[0], as(c.cert)); err == nil {
		t.Error("a box may join the cluster")
	}
}

func TestRevokedCredentialsEndAnOpenConnectionAndNewOnesAreReadFromTheFile(t *testing.T) {
	slow.Test(t, "go")
	t.Parallel()
	s := newSite(t, 3)
	file := s.box(mine)
	ended, back := make(chan error, 10), make(chan struct{}, 10)
	nc := s.connect(file, s.urls[2])
	nc.SetDisconnectErrHandler(func(_ *nats.Conn, err error) { ended <- err })
	nc.SetReconnectHandler(func(*nats.Conn) { back <- struct{}{} })
	lost := s.file("lost.creds", must(os.ReadFile(file)))

	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // as renewing does, see Renewal
	since := time.Now()
	s.push(mine, since, true)
	within(t, ended)
	c, err := ReadCredentials(lost)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range s.urls {
		if again, err := nats.Connect(url, options(func() (*Credentials, error) { return c, nil })...); err == nil {
			again.Close()
			t.Errorf("revoked credentials connect to %s", url)
		}
	}
	s.box(mine) // in the place of the old file
	within(t, back)
	if got := s.take(nc, mine); got != "for "+mine {
		t.Errorf("with new credentials the box gets %q", got)
	}

	s.push(mine, time.Now(), false)
	within(t, ended)
	if c, err = ReadCredentials(s.box(mine)); err != nil {
		t.Fatal(err)
	}
	for _, url := range s.urls {
		if again, err := nats.Connect(url, options(func() (*Credentials, error) { return c, nil })...); err == nil {
			again.Close()
			t.Errorf("the box of a removed venue connects to %s", url)
		}
	}
}

// A site is servers with two venues, each with a stored request, and a relay's connection.
type site struct {
	*testing.T
	dir   string
	o     *Operator
	nodes []Node
	urls  []string
	relay *nats.Conn
	js    jetstream.JetStream
}

func newSite(t *testing.T, nodes int) *site {
	t.Helper()
	o, err := NewOperator()
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, dir: t.TempDir(), o: o}
	s.nodes, s.urls = servers(t, o, nodes)
	creds, err := o.Relay("relay")
	if err != nil {
		t.Fatal(err)
	}
	s.relay = s.connect(s.file("relay.creds", creds), s.urls...)
	if s.js, err = jetstream.New(s.relay); err != nil {
		t.Fatal(err)
	}
	s.retry(func() error {
		_, err := s.js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "REQUESTS",
			Subjects: []string{"requests.>"}, Replicas: nodes, MaxMsgsPerSubject: 1,
			Discard: jetstream.DiscardNew, DiscardNewPerSubject: true})
		return err
	})
	s.retry(func() error {
		_, err := s.js.CreateOrUpdateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "BOXES", Replicas: nodes,
			Storage: jetstream.MemoryStorage})
		return err
	})
	for venue, ackWait := range map[string]time.Duration{mine: time.Second, theirs: time.Hour} {
		s.retry(func() error {
			_, err := s.js.CreateOrUpdateConsumer(t.Context(), "REQUESTS", jetstream.ConsumerConfig{Durable: venue,
				FilterSubject: "requests." + venue + ".>", AckPolicy: jetstream.AckExplicitPolicy,
				MaxAckPending: 1, AckWait: ackWait})
			return err
		})
		s.retry(func() error {
			_, err := s.js.Publish(t.Context(), "requests."+venue+".1", []byte("for "+venue))
			if err != nil && strings.Contains(err.Error(), "maximum messages per subject") {
				return nil // an attempt that was not answered in time has stored it
			}
			return err
		})
		s.push(venue, time.Now(), true)
	}
	s.retry(func() error {
		_, err := s.relay.Request("$KV.BOXES."+theirs, []byte("all is well"), testTime) // once: it is the revision 1
		return err
	})
	return s
}

// testTime is for a whole step of a test; it is only reached by a test that fails.
const testTime = 2 * time.Minute

// retry is for servers that elect a leader just now, and refuse at once meanwhile.
func (s *site) retry(do func() error) {
	s.Helper()
	for end := time.Now().Add(testTime); ; time.Sleep(20 * time.Millisecond) { // between two questions
		err := do()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			s.Fatal(err)
		}
	}
}

func (s *site) file(name string, data []byte) string {
	path := filepath.Join(s.dir, name)
	if err := WriteSecret(path, data, true); err != nil {
		s.Fatal(err)
	}
	return path
}

// box writes new credentials of a venue.
func (s *site) box(venue string) string {
	creds, _, err := s.o.Box(venue)
	if err != nil {
		s.Fatal(err)
	}
	return s.file(venue+".creds", creds)
}

func (s *site) push(venue string, since time.Time, open bool) {
	s.Helper()
	account, err := s.o.VenueAccount(venue, since, open)
	if err != nil {
		s.Fatal(err)
	}
	s.retry(func() error { // a server that is too slow is told by the others
		stored, there, err := s.o.Push(s.Context(), s.urls, account)
		if err == nil && (len(stored) != len(s.urls) || len(there) != len(s.urls)) {
			err = fmt.Errorf("the account is stored by %v of %v", stored, there)
		}
		return err
	})
}

func (s *site) connect(file string, urls ...string) *nats.Conn {
	s.Helper()
	var nc *nats.Conn
	s.retry(func() (err error) {
		nc, err = Connect(s.Context(), Options{URLs: urls, CredentialsFile: file, Name: "test"})
		return err
	})
	s.Cleanup(nc.Close)
	return nc
}

// take takes a venue's next request, as its box does.
func (s *site) take(nc *nats.Conn, venue string) string {
	s.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		s.Fatal(err)
	}
	c, err := js.Consumer(s.Context(), "REQUESTS", venue)
	if err != nil {
		s.Fatal(err)
	}
	m, err := c.Next(jetstream.FetchMaxWait(testTime))
	if err != nil {
		s.Fatal(err)
	}
	if err := m.DoubleAck(s.Context()); err != nil {
		s.Fatal(err)
	}
	return string(m.Data())
}

// unchanged looks until a pull request of before has expired, too.
func (s *site) unchanged(t *testing.T, stream jetstream.Stream) {
	for range 5 {
		info, err := stream.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info.State.Msgs != 2 || info.State.LastSeq != 2 || info.State.Consumers != 2 {
			t.Fatalf("the stream was changed: %+v", info.State)
		}
		other, err := s.js.Consumer(t.Context(), "REQUESTS", theirs)
		if err != nil {
			t.Fatal(err)
		}
		if i := other.CachedInfo(); i.Delivered.Consumer != 1 || i.AckFloor.Stream != 0 || i.NumAckPending != 1 {
			t.Fatalf("the other venue's consumer was touched: %+v", i)
		}
		kv, err := s.js.KeyValue(t.Context(), "BOXES")
		if err != nil {
			t.Fatal(err)
		}
		if e, err := kv.Get(t.Context(), theirs); err != nil || e.Revision() != 1 {
			t.Fatalf("the other box's report was changed: %v, %v", e, err)
		}
		time.Sleep(100 * time.Millisecond) // nothing tells that nothing happens
	}
}

// joins does the TLS handshake of a node at the port of the cluster, and reads on: the server's refusal comes after
// the client's part.
func joins(n Node, conf *tls.Config) error {
	conn, err := tls.Dial("tcp", n.address(clusterOffset), conf)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(testTime))
	_, err = conn.Read(make([]byte, 1))
	return err
}

// servers runs nats-server with the files of WriteNodes, on ports of loopback.
func servers(t *testing.T, o *Operator, many int) (nodes []Node, urls []string) {
	t.Helper()
	dir := t.TempDir()
	for i := range many {
		port, err := natstest.FreePort(clusterOffset, monitorOffset)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(dir, fmt.Sprintf("node%d", i+1))
		nodes = append(nodes, Node{Host: "127.0.0.1", Port: port, Etc: folder, Data: folder})
		urls = append(urls, nodes[i].URL())
	}
	folders, err := o.WriteNodes(dir, nodes)
	if err != nil {
		t.Fatal(err)
	}
	var files []natstest.File
	for i, folder := range folders {
		files = append(files, natstest.File{Path: filepath.Join(folder, "nats-server.conf"),
			Client: nodes[i].address(0), Status: fmt.Sprintf("127.0.0.1:%d", nodes[i].MonitorPort())})
	}
	natstest.ForTest(t, natstest.Options{Files: files})
	return nodes, urls
}

func within[T any](t *testing.T, c <-chan T) (got T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	select {
	case got = <-c:
	case <-ctx.Done():
		t.Fatal("it did not happen")
	}
	return got
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprint("test: ", err))
	}
	return v
}
