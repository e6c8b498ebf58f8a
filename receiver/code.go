package receiver

import (
	"net/http"

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

// Codes lists every Code, so that each has a metric series from the start.
func Codes() []Code {
	return []Code{NotFound, MethodNotAllowed, WrongPath, AddressNotAllowed, VenueMissing, VenueNotAllowed,
		DeviceMissing, DeviceNotAllowed, ContentType, BodyTooLarge, InvalidJSON, SchemaMismatch, BacklogFull,
		StorageFull, StorageFailed, ShuttingDown, TooSlow, BodyIncomplete, Internal}
}

// Status is the HTTP status of the answer. Only statuses that the contract lists are used
// for an order (section 6.3). 404 and 405 are for callers that are not the service, or whose path
// is wrong.
func (c Code) Status() int {
	switch c {
	case NotFound, WrongPath:
		return http.StatusNotFound
	case MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case VenueMissing, DeviceMissing:
		return contract.HTTPHeaderMissing
	case AddressNotAllowed, VenueNotAllowed, DeviceNotAllowed:
		return contract.HTTPNotAllowed
	case ContentType, BodyTooLarge, InvalidJSON, SchemaMismatch:
		return contract.HTTPBadRequest
	case BacklogFull, StorageFull, StorageFailed, ShuttingDown, TooSlow, BodyIncomplete:
		return contract.HTTPUnavailable
	}
	return contract.HTTPInternal
}

// retryAfter is the Retry-After of a 503, in seconds. It is short where the next attempt may succeed,
// because the service retries only three times within seconds. With 30 it would give the order up; but
// the contract does not say that it obeys the header. 30 is for proxies and scripts that do: to retry
// into a full disk or backlog at once is useless.
func (c Code) retryAfter() string {
	switch c {
	case BacklogFull, StorageFull:
		return "30"
	case StorageFailed, ShuttingDown:
		return "5"
	}
	return "1" // TooSlow, BodyIncomplete: the next attempt may well succeed
}

// message is the default message of a code.
//
// Codes of the headers, the body and the parser are not here: their refusals have messages of their
// own, which name the field.
func (c Code) message() string {
	switch c {
	case NotFound:
		return "not found"
	case MethodNotAllowed:
		return "method not allowed; use POST"
	case BacklogFull:
		return "too many tickets wait to be printed"
	case StorageFull:
		return "the disk is full"
	case StorageFailed:
		return "the request could not be stored"
	case ShuttingDown:
		return "the receiver is stopping"
	case TooSlow:
		return "the request was not stored in time"
	}
	return "internal error"
}

// advice is what a person can do who finds a caller turned away, in the log or in the list of rejects. It is
// not part of the answer: a stranger is told nothing about the configuration.
func (c Code) advice() string {
	switch c {
	case WrongPath:
		return "; correct the address that the service posts to: it ends with receiver.path, by default " +
			"/webhooks/print, then / and the secret of the venue's secret_file, else that of receiver.secret_file"
	case AddressNotAllowed:
		return "; if it is the service's, add it there; behind a proxy set receiver.trusted_proxies too"
	case VenueMissing, DeviceMissing:
		return "; does a proxy remove this header? If the service uses another name, set receiver.headers"
	case VenueNotAllowed:
		return "; if it is yours, add its id there and run: systemctl reload ticketrail"
	case DeviceNotAllowed:
		return "; if it is yours, add it to the devices of the venue and run: systemctl reload ticketrail"
	}
	return ""
}

// turnedAway says whether a caller was refused as such, before its body was read, and a person can do
// something about it.
func (c Code) turnedAway() bool {
	switch c {
	case WrongPath, AddressNotAllowed, VenueMissing, VenueNotAllowed, DeviceMissing, DeviceNotAllowed:
		return true
	}
	return false
}
