// Package contract is the wire contract between the point-of-sale service and the kitchen: every
// path, header, field and status that the two exchange, and the parser for print requests.
//
// A change of the contract is a change here: other packages use these names. Only config, which
// imports no other package of the program, repeats those that are defaults of its keys, and
// receiver/plan has the lists of fields that the contract does not name. This package knows nothing
// of routes, printers or storage. It decides only whether a body is a print request, and names the
// field that is wrong if it is not.
//
// The contract is the document "Restaurant Point-of-Sale Integration Service: Labor Data,
// Authentication and Print Webhooks" of the service's provider. Section numbers in comments, here and
// in the packages receiver, pos and sim, refer to that document. It is not part of this
// repository. Names that it does not state are marked as such.
package contract

import (
	"embed"
	"time"
)

// PathWebhook is the default path of the webhook.
const PathWebhook = "/webhooks/print"

// Headers of every webhook request. The names are configurable, because some services use a prefix
// other than x-svc.
const (
	HeaderVenue  = "x-svc-venueid"   // UUID of the venue that sends
	HeaderDevice = "x-svc-device-id" // hardware id of the terminal that triggered the print
)

// ContentType is the media type of every body, either way.
const ContentType = "application/json"

// Statuses of the answer to a print request, and the reaction of the service (section 6.3). Only an error
// that may pass is answered with a status that is retried: a request that can never be printed
// would be sent four times without success.
const (
	HTTPStored        = 200 // the service logs its print job as SENT or CONSUMED and never sends it again
	HTTPBadRequest    = 400 // the service aborts its print job and does not retry it
	HTTPHeaderMissing = 401 // aborted; the venue's admin is alerted
	HTTPNotAllowed    = 403 // aborted; the venue's admin is alerted
	HTTPInternal      = 500 // retried
	HTTPUnavailable   = 503 // retried
)

// Limits of the webhook.
const (
	WebhookTimeout = 5 * time.Second // the service waits this long for an answer
	WebhookRetries = 3               // after them the service gives the order up: it is lost
)

// Fields of the envelope: of print requests, and of lists that the read API returns.
const (
	FieldRecords         = "records"
	FieldLength          = "length"
	FieldStatus          = "status"
	FieldCount           = "count"
	FieldDuration        = "duration"
	FieldRequestStamp    = "serverRequestTimestamp"
	FieldResponseStamp   = "serverResponseTimestamp"
	FieldClientDrift     = "serverClientDrift"
	FieldID              = "id"
	FieldUpdatedAt       = "updatedAt"
	ValueSuccess         = "SUCCESS" // value of the field status: no error
	ValueError           = "ERROR"
	FieldError           = "error"
	FieldAnswerDuplicate = "duplicate"
)

// Fields of a print record and its items that the contract names. Package plan looks for all other
// fields, under the names that services use.
const (
	FieldItems      = "items"
	FieldChildItems = "childItems"
	FieldRetryCount = "retryCount"
	FieldVenueID    = "venueId"

	FieldIsVoid = "isVoid"
)

// Limits of a print request. The contract sets none; these are far above a real order, and bound
// the memory and paper that one request can use.
const (
	// An id is stored, logged and shown with every ticket.
	MaxIDBytes = 200    // records[0].id
	MaxDepth   = 64     // of items in items; an item of the record itself is at depth 1
	MaxItems   = 10_000 // items of all records together, children included; also the most records
)

// The read API of the service, below its base address.
const (
	PathToken          = "/oauth/token"
	PathMe             = "/me"
	PathEmployees      = "/v1/labor/employees"
	PathPayrollPeriods = "/v1/labor/payrollperiods"

	ParamLimit  = "limit"
	ParamCursor = "cursor"

	DefaultPageSize = 20
	TokenLifetime   = 15 * time.Minute
)

// The token request and its answer, as OAuth 2.0 (RFC 6749, sections 4.4 and 5) has them.
const (
	ParamGrantType         = "grant_type"
	GrantClientCredentials = "client_credentials"
	ParamClientID          = "client_id"
	ParamClientSecret      = "client_secret"
	ParamScope             = "scope"

	FieldAccessToken = "access_token"
	FieldExpiresIn   = "expires_in" // seconds
	TokenTypeBearer  = "Bearer"
)

// Names that the contract does not state. They are the defaults of configuration keys.
const (
	ParamTokenVenue   = "venue_id" // names the venue in a token request
	ParamPayrollVenue = "venueId"  // names the venue in a request for payroll periods
	FieldNextCursor   = "nextCursor"
	FieldScope        = "scope"  // of a token or of /me, separated by spaces
	FieldScopes       = "scopes" // the same as a list
)

// FieldName is the name of an employee, and of an item.
const FieldName = "name"

// Fields of a payroll period and its meta object.
const (
	FieldPeriodStart      = "payrollPeriodStartDateTime" // a date without a time, despite its name
	FieldPeriodEnd        = "payrollPeriodEndDateTime"
	FieldMeta             = "meta"
	FieldPayPeriodStartAt = "payPeriodStartAt"
	FieldPayPeriodEndAt   = "payPeriodEndAt"
	FieldTimezone         = "timezone"
)

// An Anomaly is a deviation from the contract in a request that can be printed nevertheless. It is
// counted, so that the operator sees that the service has changed before something breaks. Its
// values are label values in the metrics and may not be renamed.
type Anomaly string

const (
	IDNotUUID    Anomaly = "id_not_uuid"   // records[0].id is not a UUID
	InvalidUTF8  Anomaly = "invalid_utf8"  // bytes that are not UTF-8; each is read as U+FFFD
	StatusOdd    Anomaly = "status"        // a status other than SUCCESS
	CountOdd     Anomaly = "count"         // a count other than the number of records
	VenueOther   Anomaly = "venue_id"      // a record's venueId differs from the header: see [VenueDiffers]
	DuplicateKey Anomaly = "duplicate_key" // an object has the same key more than once: see [Open]
	OverLimit    Anomaly = "over_limit"    // a limit of ours is exceeded: it prints as text
)

// Anomalies lists all kinds. The metrics show each of them from the start, with 0.
func Anomalies() []Anomaly {
	return []Anomaly{IDNotUUID, InvalidUTF8, StatusOdd, CountOdd, VenueOther, DuplicateKey, OverLimit}
}

//go:embed examples/*.json
var examples embed.FS

// Example returns one of the print requests below, as a deployed service sends them. It panics if
// there is no such file.
//
//	burger.json       modifiers in modifiers, a note, layout instructions
//	retry.json        the same request as a retry: only retryCount and timestamps differ
//	void.json         an item of an earlier order is cancelled
//	bar.json          drinks for another printer, fractions, a refire
//	two-records.json  two records in one request
//	accents.json      letters that no single code page contains
//	no-items.json     a record without items
func Example(name string) []byte {
	body, err := examples.ReadFile("examples/" + name)
	if err != nil {
		panic(err)
	}
	return body
}
