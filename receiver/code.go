package receiver

import (
	"maps"
	"net/http"
	"slices"

	"ticketrail/receiver/contract"
)

// Code is the error.code of an answer. The codes are a closed set. Operators match them in alert
// rules, dashboards and kept bodies, so none may be renamed.
type Code string

const (
	NotFound         Code = "not_found"
	MethodNotAllowed Code = "method_not_allowed"
	// WrongPath is a NotFound of a caller that names a venue: the service, with an old address. The caller
	// is answered not_found all the same.
	WrongPath Code = "wrong_path"

	AddressNotAllowed Code = "address_not_allowed"
	VenueMissing      Code = "venue_missing"
	VenueNotAllowed   Code = "venue_not_allowed"
	DeviceMissing     Code = "device_missing"
	DeviceNotAllowed  Code = "device_not_allowed"

	ContentType    Code = "content_type"
	BodyTooLarge   Code = "body_too_large"
	InvalidJSON    Code = "invalid_json"
	SchemaMismatch Code = "schema_mismatch"

	// The order is good, but the box cannot take it now. A retry can succeed.
	BacklogFull    Code = "backlog_full"
	StorageFull    Code = "storage_full"
	StorageFailed  Code = "storage_failed"
	ShuttingDown   Code = "shutting_down"
	TooSlow        Code = "too_slow"
	BodyIncomplete Code = "body_incomplete" // the body broke off or its chunks were malformed

	Internal Code = "internal"
)

// An answering is how a Code is answered, and what a person can do about it.
type answering struct {
	status int
	// Retry-After of a 503, in seconds. It is short where it may, because
	// the service retries only three times within seconds. With 30 it would give the order up; but the contract does
	// not say that it obeys the header. 30 is for proxies and scripts that do: to retry into a full disk at once is
	// useless.
	retryAfter string
	// message is the default one. Refusals of headers and bodies have messages of their own, which name the field.
	message string
	// advice is what a person can do who finds a caller turned away, in the log or in the list of rejects: the caller
	// was refused as such, before its body was read. It is not part of the answer: a stranger is told nothing about the
	// configuration.
	advice string
}

const noHeader = "; does a proxy remove this header? If the service uses another name, set receiver.headers"

// answerings has every Code. Only statuses that the contract lists are used for an order (section 6.3). 404 and 405 are
// for callers that are not the service, or whose path is wrong.
var answerings = map[Code]answering{
	NotFound:         {status: http.StatusNotFound, message: "not found"},
	MethodNotAllowed: {status: http.StatusMethodNotAllowed, message: "method not allowed; use POST"},
	WrongPath: {status: http.StatusNotFound, advice: "; correct the address that the service posts to: it ends with " +
		"receiver.path, by default /webhooks/print, then / and the secret of the venue's secret_file, else that of " +
		"receiver.secret_file"},

	AddressNotAllowed: {status: contract.HTTPNotAllowed,
		advice: "; if it is the service's, add it there; behind a proxy set receiver.trusted_proxies too"},
	VenueMissing: {status: contract.HTTPHeaderMissing, advice: noHeader},
	VenueNotAllowed: {status: contract.HTTPNotAllowed,
		advice: "; if it is yours, add its id there and run: systemctl reload ticketrail"},
	DeviceMissing: {status: contract.HTTPHeaderMissing, advice: noHeader},
	DeviceNotAllowed: {status: contract.HTTPNotAllowed,
		advice: "; if it is yours, add it to the devices of the venue and run: systemctl reload ticketrail"},

	ContentType:    {status: contract.HTTPBadRequest},
	BodyTooLarge:   {status: contract.HTTPBadRequest},
	InvalidJSON:    {status: contract.HTTPBadRequest},
	SchemaMismatch: {status: contract.HTTPBadRequest},

	BacklogFull: {status: contract.HTTPUnavailable, retryAfter: "30", message: "too many tickets wait to be printed"},
	StorageFull: {status: contract.HTTPUnavailable, retryAfter: "30", message: "the disk is full"},
	StorageFailed: {status: contract.HTTPUnavailable, retryAfter: "5",
		message: "the request could not be stored"},
	ShuttingDown:   {status: contract.HTTPUnavailable, retryAfter: "5", message: "the receiver is stopping"},
	TooSlow:        {status: contract.HTTPUnavailable, retryAfter: "1", message: "the request was not stored in time"},
	BodyIncomplete: {status: contract.HTTPUnavailable, retryAfter: "1"},

	Internal: {status: contract.HTTPInternal, message: "internal error"},
}

// Codes lists every Code, so that each has a metric series from the start.
func Codes() []Code { return slices.Sorted(maps.Keys(answerings)) }

// Status is the HTTP status of the answer.
func (c Code) Status() int { return answerings[c].status }

// turnedAway says whether a caller was refused as such, and a person can do something about it.
func (c Code) turnedAway() bool { return answerings[c].advice != "" }
