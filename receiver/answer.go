package receiver

import (
	"encoding/json"
	"net/http"
	"strconv"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// writeStored is the promise. Nothing may be done after it that could still fail.
func writeStored(w http.ResponseWriter, t ticket.Receipt) {
	b := make([]byte, 0, 64)
	b = append(b, `{"status":"SUCCESS","duplicate":`...)
	b = strconv.AppendBool(b, t.Duplicate)
	b = append(b, `,"jobs":`...)
	b = strconv.AppendInt(b, int64(t.Jobs), 10)
	b = append(b, '}')
	write(w, contract.StatusStored, b)
}

type errorAnswer struct {
	Status string    `json:"status"`
	Error  errorBody `json:"error"`
}

type errorBody struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// writeError answers a refusal. With hangUp the connection ends with it: otherwise the server
// would read the rest of the body, at the caller's speed, before the answer goes out.
func writeError(w http.ResponseWriter, no *refusal, hangUp bool) {
	b, err := json.Marshal(errorAnswer{contract.StatusError, errorBody{no.code, no.message}})
	if err != nil {
		panic(err) // two strings
	}
	status := no.code.Status()
	h := w.Header()
	if hangUp {
		h.Set("Connection", "close")
	}
	switch status {
	case contract.StatusUnavailable:
		h.Set("Retry-After", no.code.retryAfter())
	case http.StatusMethodNotAllowed:
		h.Set("Allow", http.MethodPost)
	}
	write(w, status, b)
}

// write ignores the error: there is nobody left to tell.
func write(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contract.ContentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
