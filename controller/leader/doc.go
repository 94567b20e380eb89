// Package leader lets one of several processes act, by a Lease, while the others
// stand by with warm caches.
//
//	election, err := leader.New(leader.Options{
//		Leases:    clientset.CoordinationV1(),
//		Namespace: "shop", Name: "site-operator",
//	})
//	...
//	c, err := controller.New("sites", reconcile, controller.Options{Workers: 4, Leadership: election})
//	...
//	go func() { lost <- election.Run(ctx) }()
//	err = c.Run(ctx)
//
// The informers of all processes run, and their controllers queue what changes. The
// workers of one of them start. One election serves all controllers of a process; other
// work can be tied to it with [Election.Lead].
//
// # What is promised
//
//   - No reconcile starts later than [Options].RenewDeadline after the last renewal
//     was sent, by the clock of the process, which is asked each time: a process that was
//     stopped for an hour does not start one when it wakes up, though none of its timers
//     has run yet. Both the monotonic clock and that on the wall are asked, as the
//     first stands still while a machine is suspended.
//   - At that moment the contexts of the reconciles under way end, and
//     [controller.Controller.Run] and [Election.Run] return errors that are
//     [controller.ErrNotLeading]. Most programs then exit.
//   - Another process takes over when it has seen no renewal for
//     [Options].LeaseDuration, which is longer; or at once, when the lease was released.
//   - A lease is released only when all work under it has ended.
//
// The election is client-go's (package leaderelection); this package watches over it.
//
// # What cannot be promised
//
// A request that was sent lands when it lands. A leader that is stopped in the middle of
// a reconcile, or whose network holds a request back, can write after another process
// has taken over: no lease can prevent it. What can is the API server: an update with the
// resource version of the object that it was made of is refused with 409 when somebody
// else has written since; a delete or a patch can ask for UID and resource version by
// preconditions; and a create whose name follows from what it is for meets 409 if it is
// there already. Write that way, and a late request is harmless.
//
// An identity must be that of one process only: the default has a random part.
package leader
