package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"ticketrail/cmd/internal/finding"
)

// A Client asks a running daemon. It is safe for concurrent use. Its errors are [*Error] for a
// refusal, [*NotRunning] if no daemon answers. That, and every other reason why no daemon was asked, is an
// [ErrUnreachable].
// Requests are independent of each other; nothing is cached.
type Client struct {
	socket string
	http   *http.Client
}

// NewClient returns a Client for the daemon at socket. It connects at the first request.
func NewClient(socket string) *Client {
	return &Client{socket: socket, http: &http.Client{
		// Longer than the daemon's own limit for a request, so that the operator gets the daemon's
		// reason.
		Timeout: time.Minute,
		Transport: &http.Transport{
			// A restart of the daemon between two requests must not break the second one.
			DisableKeepAlives:     true,
			ResponseHeaderTimeout: time.Minute, // of a backup, which has no other limit
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				// A socket whose queue of connections is full hangs: the daemon is stopped or
				// overloaded.
				conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", socket)
				return conn, dialError(socket, err)
			},
		},
	}}
}

// ErrUnreachable matches every error that says that the daemon was not asked, or gave no answer to a
// question. A change whose answer was lost is none: it may have been made.
var ErrUnreachable = errors.New("the daemon is not reachable")

type unreachable struct{ error }

func (e unreachable) Unwrap() []error { return []error{ErrUnreachable, e.error} }

// NotRunning is the error of a request to a socket at which no daemon answers.
type NotRunning struct{ Socket string }

func (e *NotRunning) Error() string {
	return fmt.Sprintf("the daemon is not running (no answer at %s): ticketrail doctor says why; "+
		"to start it: systemctl start ticketrail", e.Socket)
}

func (e *NotRunning) Is(target error) bool { return target == ErrUnreachable }

// dialError names the three causes that the operator meets: not started, wrong user, else the
// system's own error.
func dialError(socket string, err error) error {
	switch {
	case err == nil:
		return nil
	case refused(err):
		return &NotRunning{Socket: socket}
	case errors.Is(err, fs.ErrPermission): // the daemon may be running well
		return unreachable{fmt.Errorf("permission denied at %s: use sudo, or, on a box with the package, add yourself "+
			"with usermod -aG ticketrail-admin and log in again", socket)}
	}

	// The system's own word for it, such as "connection timed out", without "dial unix".
	if e, ok := errors.AsType[*net.OpError](err); ok {
		err = e.Err
	}
	return unreachable{fmt.Errorf("ticketrail cannot be asked at %s: %w: "+
		"name its socket with --socket, or restart it with systemctl restart ticketrail", socket, err)}
}

// Jobs lists jobs, newest first.
func (c *Client) Jobs(ctx context.Context, f Filter) ([]Job, error) {
	return call[[]Job](ctx, c, "GET", "/v1/jobs", f)
}

// Job shows one job.
func (c *Client) Job(ctx context.Context, id uint64) (Detail, error) {
	return call[Detail](ctx, c, "GET", "/v1/jobs/"+formatID(id), nil)
}

// Reprint enqueues a marked copy of a ticket. Its answer has one job. Not safe to repeat: each call
// makes a copy, unless the original was held or failed.
func (c *Client) Reprint(ctx context.Context, id uint64, o ReprintOptions) (Reprinted, error) {
	return call[Reprinted](ctx, c, "POST", "/v1/jobs/"+formatID(id)+"/reprint", o)
}

// Cancel cancels an open ticket: it does not print. A ticket that is printing cannot be cancelled:
// the error is [Conflict].
func (c *Client) Cancel(ctx context.Context, id uint64, reason string) error {
	_, err := call[jobsBody](ctx, c, "POST", "/v1/jobs/"+formatID(id)+"/cancel", cancelBody{Reason: reason})
	return err
}

// Move moves open tickets to the end of another station's queue and returns their new ids. With ids all of these move,
// or with an error none; without, every open ticket of the station from: after an error some may have moved already,
// and the message says how many.
func (c *Client) Move(ctx context.Context, ids []uint64, from, to string) ([]uint64, error) {
	moved, err := call[jobsBody](ctx, c, "POST", "/v1/move", moveBody{IDs: ids, From: from, To: to})
	return moved.Jobs, err
}

// Stations lists every station.
func (c *Client) Stations(ctx context.Context) (Stations, error) {
	return call[Stations](ctx, c, "GET", "/v1/stations", nil)
}

// Test enqueues a test ticket for a station and returns its id. It uses paper, and waits in the
// queue as an order does.
func (c *Client) Test(ctx context.Context, station string) (uint64, error) {
	return call[uint64](ctx, c, "POST", "/v1/stations/"+url.PathEscape(station)+"/test", nil)
}

// Hold stops a station after its current ticket, until [Client.Resume]. The queue keeps
// growing, and a backup does not take over: the operator decided.
func (c *Client) Hold(ctx context.Context, station, reason string) error {
	path := "/v1/stations/" + url.PathEscape(station) + "/hold"
	_, err := call[struct{}](ctx, c, "POST", path, reasonBody{Reason: reason})
	return err
}

// Resume ends a hold.
func (c *Client) Resume(ctx context.Context, station string) error {
	_, err := call[struct{}](ctx, c, "POST", "/v1/stations/"+url.PathEscape(station)+"/resume", nil)
	return err
}

// Probe has the daemon ask the station's printer anew which questions it answers.
func (c *Client) Probe(ctx context.Context, station string) (finding.DeviceStatus, error) {
	return call[finding.DeviceStatus](ctx, c, "POST", "/v1/stations/"+url.PathEscape(station)+"/probe", nil)
}

// Rejects lists refused print requests, newest first, without their bodies.
func (c *Client) Rejects(ctx context.Context) ([]Reject, error) {
	return call[[]Reject](ctx, c, "GET", "/v1/rejects", nil)
}

// Reject shows one refused print request.
func (c *Client) Reject(ctx context.Context, id uint64) (Reject, error) {
	return call[Reject](ctx, c, "GET", "/v1/rejects/"+formatID(id), nil)
}

// PrintReject prints a refused print request. Safe to repeat: a ticket that has printed does not print again.
func (c *Client) PrintReject(ctx context.Context, id uint64, o PrintRejectOptions) (PrintedReject, error) {
	return call[PrintedReject](ctx, c, "POST", "/v1/rejects/"+formatID(id)+"/print", o)
}

func formatID(id uint64) string { return strconv.FormatUint(id, 10) }

// call sends one request. It does not retry: after a broken connection a change may have been made,
// and making it again would print a ticket twice. The operator must look first.
func call[T any](ctx context.Context, c *Client, method, path string, body any) (T, error) {
	var v T
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return v, err
	}

	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		return v, c.transportError(method, err)
	}
	return v, nil
}

// Backup writes the database as it is at this moment to w, and returns its size. After an error only a
// part was written. A large database, or a slow w, takes longer than the minute that other requests have.
func (c *Client) Backup(ctx context.Context, w io.Writer) (int64, error) {
	patient := Client{c.socket, &http.Client{Transport: c.http.Transport}}
	resp, err := patient.send(ctx, "GET", "/v1/database", nil)
	if err != nil {
		return 0, err
	}

	defer resp.Body.Close()
	size, err := io.Copy(w, resp.Body)
	if errors.Is(err, io.ErrUnexpectedEOF) { // else it is an error of w
		err = c.transportError("GET", err)
	}
	return size, err
}

// send sends one request. The caller closes the body of the answer, whose status is 200.
func (c *Client) send(ctx context.Context, method, path string, body any) (_ *http.Response, err error) {
	var content io.Reader
	if body != nil {
		encoded, _ := json.Marshal(body) // of this package
		content = bytes.NewReader(encoded)
	}

	req, err := http.NewRequestWithContext(ctx, method, "http://ticketrail"+path, content)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set(HeaderAPI, API)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.transportError(method, err)
	}

	defer func() {
		if err != nil {
			resp.Body.Close()
		}
	}()

	// Checked before the status: an answer of another program may be anything.
	switch v := resp.Header.Get(HeaderAPI); {
	case v == "":
		return nil, unreachable{fmt.Errorf("the program that answers at %s is not ticketrail: "+
			"name the daemon's socket with --socket", c.socket)}
	case v != API:
		return nil, mismatch(API, v)
	}

	if resp.StatusCode != http.StatusOK {
		var e struct {
			Error *Error `json:"error"`
		}
		if err := json.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(&e); err != nil || e.Error == nil {
			return nil, fmt.Errorf("ticketrail answered %s without a reason", resp.Status)
		}
		return nil, e.Error
	}

	return resp, nil
}

// transportError explains a connection that failed. After a change the outcome is unknown: the
// daemon may have committed it before the connection broke. A GET changes nothing, so it has no
// such doubt.
func (c *Client) transportError(method string, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the method and the URL, which is not a real address
	}
	switch {
	case errors.Is(err, ErrUnreachable):
		return err
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	case errors.Is(err, context.DeadlineExceeded):
		err = errors.New("no answer within a minute")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		err = errors.New("it stopped before it had answered")
	}

	if method == http.MethodGet {
		return unreachable{fmt.Errorf("ask ticketrail at %s: %w", c.socket, err)}
	}
	return fmt.Errorf("ask ticketrail at %s: %w: whether the change was made is unknown, see ticketrail jobs list",
		c.socket, err)
}
