package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/queue/store"
	"ticketrail/receiver"
)

// NoAnswer is the identity of an address that does not answer, which a router may do for this box alone.
const NoAnswer = "webhook/no_answer"

// webhookTimeout is about how long the service itself waits for an answer.
const webhookTimeout = 5 * time.Second

// WebhookFindings ask the webhook at each address that the service uses, from this box: through the name server, the
// router, and the proxy or tunnel. A GET changes nothing, and its answer shows that ticketrail gave it.
func WebhookFindings(ctx context.Context, conf *config.Config) []finding.Finding {
	base := webhookHost(conf)
	if base == "" {
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, webhookTimeout)
	defer cancel()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	var out []finding.Finding
	asked := map[string]bool{}
	for _, v := range conf.Venues {
		secrets, of := conf.Receiver.Secrets, ""
		if len(v.Secrets) > 0 {
			secrets, of = v.Secrets, "/"+v.Name
		}

		address := base + conf.Receiver.Path
		if len(secrets) > 0 {
			address = strings.TrimSuffix(address, "/") + "/" + secrets[0].Reveal() // the service sends it there, too
		}

		if asked[address] {
			continue
		}
		asked[address] = true
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil // the configuration was checked
		}

		resp, err := client.Do(req)
		if err != nil {
			return append(out, unreachable(base, err)) // so is every other address there
		}
		out = append(out, answered(base, of, resp))
		_ = resp.Body.Close()
	}

	return out
}

// webhookHost is the beginning of the webhook's address, as the service knows it; "" if it is not configured.
func webhookHost(conf *config.Config) string {
	base := conf.Receiver.ExternalURL
	if name := conf.Receiver.TLS.ACME.Name; base == "" && name != "" {
		base = "https://" + name
	}
	return strings.TrimSuffix(base, "/")
}

// WebhookAddress is the address that a person gives to the service for a venue, without its secret, and the file
// whose line is the end of it, "" for none. Instead of a path that is not the default it has /PATH.
func WebhookAddress(conf *config.Config, v config.Venue) (address, secretFile string) {
	secretFile = cmp.Or(v.SecretFile, conf.Receiver.SecretFile)
	path := conf.Receiver.Path
	if path != config.Default().Receiver.Path {
		path = "/PATH" // it may be a secret too
	}

	address = cmp.Or(webhookHost(conf), "https://HOST") + path
	if secretFile != "" {
		address = strings.TrimSuffix(address, "/") + "/"
	}
	return address, secretFile
}

// unreachable is the finding for an address that gave no answer. The error of the HTTP client names the whole
// address, with the secret, so only its cause is shown.
func unreachable(base string, err error) finding.Finding {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	detail := base + ": " + layout.Clean(err.Error())
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return finding.New("webhook/no_name", finding.Fail, "the name server does not know its name", detail,
			"correct receiver.external_url, or add the name to the DNS of its domain")
	}

	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return finding.New("webhook/certificate", finding.Fail, "its certificate is refused", detail,
			"the service refuses this certificate too: the program that answers at "+base+" needs one for that name")
	}
	return finding.New(NoAnswer, finding.Warn, "its address does not answer", detail,
		"many routers do not lead their own address back inside: open it on a phone without "+
			"Wi-Fi; \"not found\" means that it is reached")
}

// answered is the finding for an answer, of ticketrail or of something else. of is "/" with
// the venue that has an address of its own.
func answered(base, of string, resp *http.Response) finding.Finding {
	var body struct {
		Error struct {
			Code receiver.Code `json:"code"`
		} `json:"error"`
	}

	_ = json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&body) // an answer that is no JSON is not ours
	switch body.Error.Code {
	case receiver.MethodNotAllowed:
		return finding.Fine("webhook", base+" leads here"+strings.Replace(of, "/", " for ", 1))
	case receiver.NotFound:
		return finding.New("webhook/wrong_path"+of, finding.Fail,
			"its address leads to ticketrail, but not to the webhook", base+strings.Replace(of, "/", " for ", 1),
			"the proxy or tunnel must pass the path on as it is; two boxes at one address are also possible")
	}

	return finding.New("webhook/not_ours"+of, finding.Fail, "its address is answered by something else",
		fmt.Sprintf("%s: HTTP %d", base, resp.StatusCode),
		"the proxy, tunnel or router must lead it to receiver.listen")
}

// slowSync: several small orders in a row still fit into the time that the service waits.
const slowSync = 500 * time.Millisecond

// syncFinding measures how long the disk takes for a small write, which each order waits for. Without a folder that
// this user may write to there is no finding.
func syncFinding(path string) []finding.Finding {
	folder := filepath.Dir(path)
	file, err := os.CreateTemp(folder, ".ticketrail-doctor-*")
	if err != nil {
		return nil
	}
	defer os.Remove(file.Name())
	defer file.Close()

	const writes = 5
	start := time.Now()
	for range writes {
		_, err := file.Write(make([]byte, 4<<10))
		if err == nil {
			err = file.Sync()
		}
		if err != nil {
			fault, known := finding.Storage(path, "", store.WithRoom(path, err))
			if !known {
				fault = finding.New("disk/write_fails", finding.Fail, "a write fails",
					fmt.Sprintf("to %s: %v", folder, err), "see dmesg: the disk may fail")
			}
			return []finding.Finding{fault}
		}
	}

	return []finding.Finding{syncTime(time.Since(start) / writes)}
}

func syncTime(took time.Duration) finding.Finding {
	text := fmt.Sprintf("a write is on the disk after %d ms", cmp.Or(took.Milliseconds(), 1))
	if took > slowSync {
		return finding.New("disk/slow", finding.Warn, text, "each order waits for that",
			"see dmesg: the disk may fail; an SD card may be too slow")
	}
	return finding.Fine("disk writes", text)
}
