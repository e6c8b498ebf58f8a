package printer

import (
	"context"
	"strings"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/session"
	"ticketrail/printer/transport"
)

// Port 9100 is not only the port of printers: Prometheus's node exporter has it too, and people mistype
// addresses. The questions of [Device] do not find that out, because most letters look like a valid status byte.

// An Identity describes the other end of a connection.
type Identity struct {
	// Printer: it answered DLE EOT, and with nothing but a printer's bytes.
	Printer bool
	// Model is the maker and the model that a printer states, cleaned for a terminal. Clones state other
	// makers' models. Empty if it was not asked or does not answer.
	Model string
	// Program names the program that answered with text, such as "a web server (HTTP/1.1 400 Bad Request)"; cleaned for
	// a terminal. Empty: no text came.
	Program string
}

// Identify finds out who answers at d without anything that a printer prints: it sends DLE EOT 1 if ask is
// set, and without an answer ends its side of the connection, after which a web server complains about the
// incomplete request. An Identity without Printer and Program is one that answers nothing. It takes at most
// about three seconds after the connection was made, and reads a few hundred bytes.
func Identify(ctx context.Context, d transport.Dialer, ask bool) (Identity, error) {
	return identify(ctx, d, ask, false)
}

// IdentifyModel is [Identify], and asks a printer for its model.
func IdentifyModel(ctx context.Context, d transport.Dialer) (Identity, error) {
	return identify(ctx, d, true, true)
}

func identify(ctx context.Context, d transport.Dialer, ask, model bool) (id Identity, err error) {
	conn, err := d.Dial(ctx)
	if err != nil {
		return id, err
	}
	defer conn.Close()

	if transport.OneWay(conn) {
		return id, nil
	}

	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if ask {
		_ = send(conn, escpos.RealTime(1)) // after an error nothing is heard either, or the words before it
	}

	heard := listen(conn)
	if half, ok := conn.(interface{ CloseWrite() error }); ok && len(heard) == 0 && half.CloseWrite() == nil {
		heard = listen(conn)
	}

	id.Printer, id.Program = isPrinter(heard), session.Program(heard)
	if id.Printer && model {
		id.Model = askModel(conn)
	}

	if ctx.Err() != nil {
		return id, context.Cause(ctx)
	}

	// In order, so that a printer that serves one client is free at once. Its answer then does not matter.
	_ = conn.Finish(ctx)
	return id, nil
}

func send(conn transport.Conn, b []byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(session.ProvokeTimeout)); err != nil {
		return err
	}
	_, err := conn.Write(b)
	return err
}

// listen reads until nothing comes for [session.IdentifyQuiet], or [session.HeardLimit] is reached. Errors end it:
// bytes that came before them count.
func listen(conn transport.Conn) (heard []byte) {
	buf := make([]byte, session.HeardLimit)
	wait := session.ProvokeTimeout
	over := time.Now().Add(2 * session.ProvokeTimeout)

	for len(heard) < session.HeardLimit && time.Now().Before(over) {
		if conn.SetReadDeadline(time.Now().Add(wait)) != nil {
			return heard
		}
		read, err := conn.Read(buf[:session.HeardLimit-len(heard)])
		heard = append(heard, buf[:read]...)
		if err != nil {
			return heard
		}
		wait = session.IdentifyQuiet

	}
	return heard
}

// isPrinter reports whether heard has an answer to DLE EOT, and only replies of printers. A web server's
// "Request" alone has three letters that look like such an answer.
func isPrinter(heard []byte) bool {
	var p escpos.Parser
	answered := false

	for _, r := range p.Feed(heard) {
		switch r.Kind {
		case escpos.RealTimeReply:
			answered = true
		case escpos.UnknownReply, escpos.BlockReply:
			return false
		}
	}
	return answered
}

// askModel asks for maker and model, GS I 66 and 67, which are answered in order and not while the printer is
// offline. ESC @ discards the question if a printer that does not know it has taken it for text.
func askModel(conn transport.Conn) string {
	var parts []string
	for _, n := range []byte{66, 67} {
		if send(conn, escpos.AskIdentity(n)) != nil {
			break
		}
		var p escpos.Parser
		for _, r := range p.Feed(listen(conn)) {
			if name := session.Shown(string(r.Data)); r.Kind == escpos.BlockReply && r.Byte == '_' && name != "" {
				parts = append(parts, name)
			}
		}
	}
	_ = send(conn, escpos.Reset())

	return strings.Join(parts, " ")
}
