//lint:file-ignore SA1019 What client-go has deprecated is offered here, deprecated as well.

package workqueue

// These fail to compile when a new minor of client-go asks more of a queue.
var (
	_ TypedInterface[string]             = (*Typed[string])(nil)
	_ TypedDelayingInterface[string]     = (*delaying[string])(nil)
	_ TypedDelayingInterface[string]     = (*feeding[string])(nil)
	_ TypedRateLimitingInterface[string] = (*rateLimiting[string])(nil)
	_ Interface                          = (*Type)(nil)
	_ DelayingInterface                  = (*delaying[any])(nil)
	_ RateLimitingInterface              = (*rateLimiting[any])(nil)
)
