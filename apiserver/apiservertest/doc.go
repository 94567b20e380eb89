// Package apiservertest is to an API server what net/http/httptest is to HTTP:
// one call in a test starts a server, and the test cleans it up.
//
//	func TestMyController(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			server := apiservertest.Start(t, apiserver.Options{})
//			go mycontroller.Run(t.Context(), server.Config())
//			server.Load(`{apiVersion: v1, kind: Namespace, metadata: {name: blue}}`)
//			synctest.Wait() // everything has come to rest
//			_, err := server.Client().CoreV1().ConfigMaps("blue").Get(t.Context(), "settings", metav1.GetOptions{})
//			...
//		})
//	}
//
// # Time
//
// Connections are made in memory, so a server and its clients can live in a
// bubble of testing/synctest. There the time is virtual: it passes when every
// goroutine waits for something, and a day takes seconds. synctest.Wait returns
// when all have come to rest. Goroutines that the test starts must end with its
// context, t.Context(). Outside of a bubble everything else works the same, in
// real time; [Server.CatchUp] and [Eventually] wait there.
//
// Importing this package takes one of the two error handlers of apimachinery away
// (utilruntime.ErrorHandlers), which measures pauses by the clock of the process
// and would put client-go's informers to sleep for decades in a bubble.
//
// # Faults
//
// [Server.Break] adds faults to the script of the server (package fault),
// DropWatches ends watches, Compact makes old versions expire with 410.
// A [History] is a random but repeatable run of writes and faults: [Random] makes
// one of a seed, [History.Replay] runs it, and if the test fails, it is logged in
// a form that [ParseHistory] reads.
//
// # Looking back
//
// [Server.Log] has what the program under test asked for, to be counted:
//
//	if n := len(server.Log().Verb("list").Resource("pods")); n > 1 { ... }
//
// If a test fails, the requests and the writes are logged.
package apiservertest
