// Package proxy is a TCP proxy that treats connections badly, as load balancers,
// firewalls and networks do at times. It knows nothing of what it passes on, so it
// can stand before a server with TLS: the client dials [Proxy.Addr] in its place.
//
//	p, err := proxy.Start(target)
//	defer p.Close()
//	p.Pause(50 * time.Millisecond) // slow
//	p.CutAfter(2, 1<<20)           // broken twice, each time after a MiB
//	p.Cut()                        // broken now
//	p.Forget()                     // silent, and nobody is told
//	p.Deny(true)                   // nobody gets in
//
// Connections are only ever opened by a client; [Proxy.Accepted] counts them.
package proxy
