package printer

import (
	"context"

	"ticketrail/printer/escpos"
	"ticketrail/printer/session"
	"ticketrail/printer/transport"
)

// An Identity describes the other end of a connection.
type Identity struct {
	Printer bool // it answered as one
	// Model is the maker and the model that a printer states, cleaned for a terminal. Clones state other
	// makers' models. Empty if it was not asked or does not answer.
	Model string
	// Program names the program that answered with text, such as "a web server (HTTP/1.1 400 Bad Request)"; cleaned for
	// a terminal. Empty: no text came.
	Program string
}

// Identify finds out who answers at d without anything that a printer prints: see [session.Session.IsPrinter]. With
// model it also asks a printer for that. An Identity without Printer and Program is one that answers nothing. It takes
// at most about three seconds after the connection was made, and reads a few hundred bytes.
func Identify(ctx context.Context, d transport.Dialer, ask, model bool) (id Identity, err error) {
	conn, err := d.Dial(ctx)
	if err != nil {
		return id, err
	}
	if transport.OneWay(conn) {
		return id, conn.Close()
	}

	asked := session.New(conn, session.Options{
		IDs: session.NewIDs(), Foreign: func() {}, Observe: func(escpos.Condition) {},
	})
	defer asked.Close()

	if id.Printer = asked.IsPrinter(ctx, ask); id.Printer && model {
		id.Model = asked.Model(ctx)
	}
	id.Program = asked.Program()

	if ctx.Err() != nil {
		return id, context.Cause(ctx)
	}

	// In order, so that a printer that serves one client is free at once. Its answer then does not matter.
	_ = asked.Finish(ctx)
	return id, nil
}
