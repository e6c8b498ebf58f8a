// Package contract is the wire contract between the point-of-sale service and the kitchen: every
// path, header, field and status that the two exchange, and the parser for print requests.
//
// No other package spells these names, so a change of the contract is a change here. The package
// knows nothing of routes, printers or storage. It decides only whether a body is a print request,
// and names the field that is wrong if it is not. Facts that the contract does not show are marked.
package contract

import "time"

// PathWebhook is the default path of the webhook.
const PathWebhook = "/webhooks/print"

// Headers of every webhook request. Some services use another prefix than x-svc, so these are the
// defaults of configuration keys.
const (
	HeaderVenue  = "x-svc-venueid"   // UUID of the venue that sends
	HeaderDevice = "x-svc-device-id" // hardware id of the terminal that triggered the print
)

// ContentType is the media type of every body, either way.
const ContentType = "application/json"

// Statuses of the answer to a print request, and what the service does (section 6.3). Only an error
// that may pass is answered with a status that is retried: a request that can never be printed
// would be sent four times without success.
const (
	StatusStored      = 200 // the job is SENT or CONSUMED: the service never sends it again
	StatusMismatch    = 400 // the job is aborted and not retried
	StatusMissing     = 401 // aborted; the venue's admin is alerted
	StatusNotAllowed  = 403 // aborted; the venue's admin is alerted
	StatusInternal    = 500 // retried
	StatusUnavailable = 503 // retried
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
	FieldCursor          = "cursor"
	FieldID              = "id"
	FieldUpdatedAt       = "updatedAt"
	StatusSuccess        = "SUCCESS" // value of the field status: no error
	StatusError          = "ERROR"
	FieldError           = "error"
	FieldErrorCode       = "code"
	FieldErrorMessage    = "message"
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
	FieldVoid   = "void"
	FieldVoided = "voided"
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

	FieldAccessToken      = "access_token"
	FieldTokenType        = "token_type"
	FieldExpiresIn        = "expires_in" // seconds
	FieldErrorDescription = "error_description"
	TokenTypeBearer       = "Bearer"

	ErrorInvalidClient    = "invalid_client"
	ErrorInvalidRequest   = "invalid_request"
	ErrorInvalidScope     = "invalid_scope"
	ErrorUnsupportedGrant = "unsupported_grant_type"
	ErrorAccessDenied     = "access_denied"
)

// The scopes that the contract names. It does not show which call needs which scope.
const (
	ScopeChecksRead = "checks:read"
	ScopeMenuRead   = "menu:read"
	ScopeLaborRead  = "labor:read" // not shown: the simulator requires it for the labor endpoints
)

// Names that the contract does not show. They are the defaults of configuration keys.
const (
	ParamTokenVenue   = "venue_id" // names the venue in a token request
	ParamPayrollVenue = "venueId"  // names the venue in a request for payroll periods
	HeaderNextCursor  = "X-Next-Cursor"
	FieldNextCursor   = "nextCursor"
	FieldScope        = "scope"  // of a token or of /me, separated by spaces
	FieldScopes       = "scopes" // the same as a list
)

// NextCursorPlaces are the places where a list may name its next page, as dotted paths into the
// envelope; [HeaderNextCursor] is another. The contract shows none. Names with "next" come first,
// because a plain "cursor" may repeat the cursor of the request.
func NextCursorPlaces() []string {
	return []string{
		FieldNextCursor, "next_cursor",
		"meta.nextCursor", "meta.next_cursor", "pagination.nextCursor", "pagination.next_cursor",
		FieldCursor, "meta.cursor", "pagination.cursor",
	}
}

// MeVenuePlaces are the places where /me may name the venue of a token, as dotted paths.
func MeVenuePlaces() []string { return []string{"venue_id", FieldVenueID, "venue.id", "venue"} }

// Fields of an employee.
const (
	FieldName      = "name"
	FieldFirstName = "firstName"
	FieldLastName  = "lastName"
)

// Fields of a payroll period and its meta object.
const (
	FieldPeriodStart         = "payrollPeriodStartDateTime" // a date without a time, despite its name
	FieldPeriodEnd           = "payrollPeriodEndDateTime"
	FieldMeta                = "meta"
	FieldSchedulingStartDay  = "laborSchedulingStartDayOfWeek"
	FieldPayPeriodStartAt    = "payPeriodStartAt"
	FieldPayPeriodEndAt      = "payPeriodEndAt"
	FieldOvertimeStartDay    = "overtimeWeekStartDayOfWeek"
	FieldTimezone            = "timezone"
	FieldOvertimeDailyDouble = "overtimeDailyDoubleHours"
	FieldOvertimeDaily       = "overtimeDailyHours"
	FieldOvertimeWeekly      = "overtimeWeeklyHours"
)
