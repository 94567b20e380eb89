// Package controller runs reconcile loops: workers that take keys from a queue
// and bring the world one step nearer to what the object of each key asks for.
//
// # A controller
//
//	pods, err := informer.For[*corev1.Pod](ctx, factory, informer.Options[*corev1.Pod]{})
//	...
//	reconcile := func(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
//		pod, ok := pods.Store().Get(key)
//		if !ok {
//			return controller.Result{}, nil // deleted
//		}
//		return controller.Result{}, label(ctx, pod)
//	}
//	c, err := controller.New("labels", reconcile, controller.Options{Workers: 4})
//	...
//	if err := controller.Watch(c, pods, controller.Self); err != nil {
//		return err
//	}
//	return c.Run(ctx)
//
// [Watch] ties an informer to the controller. Its [Map] says which keys a change
// of an object concerns: [Self] is the object, [Owner] what controls it, and any
// function will do. It is asked for the old and the new state of each change, so
// an owner that has lost an object is reconciled too. [Controller.Add] adds keys
// that come from elsewhere.
//
// [ByIndex] maps an object to those that an index of another informer lists under
// it. [WatchWith] has options: a [Predicate] keeps out updates that do not matter,
// such as those of a status, and never what is added or deleted.
//
//	controller.WatchWith(c, widgets, controller.Self, controller.WatchOptions[*Widget]{
//		Where: controller.Or[*Widget](controller.GenerationChanged, controller.LabelsChanged),
//	})
//
// Keys of objects that were there when a run started, and those of resyncs, have
// priority [workqueue.Low]: what changes goes first. [Options].Tenant shares the
// workers fairly among namespaces, say.
//
// [Controller.Run] registers with the informers, waits until they have told all
// that is there, and starts the workers; so the first reconcile sees a complete
// store. It does not run the informers; if one of them stops, Run ends and says
// so. When its context ends it waits for the reconciles under way, for
// [Options].StopTimeout at most, and for nothing else. [Controller.SetWorkers]
// changes the number of workers while it runs.
//
// # What a reconcile returns
//
// However many changes a key has seen, it is reconciled once for those before the
// start of a reconcile and once for those after, and never by two workers at a
// time. What comes next depends on what the [Reconciler] returns:
//
//   - Nothing: the key rests until something adds it.
//   - [Result].RequeueAfter: it is reconciled again after that time, or earlier if
//     something adds it.
//   - An error: it is tried again after a pause that grows with each error in a
//     row. The error is given to [Options].OnError, or else to the log.
//   - An error made by [RetryAfter]: it is tried again after that time.
//   - An error made by [Permanent]: it is reported once, and not tried again until
//     something adds the key. [Status].GivenUp keeps it in sight.
//   - A panic: it becomes a [PanicError], and then is an error like others. The
//     worker goes on.
//
// # What a reconcile writes
//
// A store is always a little behind its server. A reconcile that creates a child, and
// is called again before the store shows the child, creates it twice. [Write] prevents
// that: it calls the client, and takes a receipt for what was written.
//
//	child, err := controller.Write(ctx, pods, func() (*corev1.Pod, error) {
//		return client.CoreV1().Pods(key.Namespace).Create(ctx, child, metav1.CreateOptions{})
//	})
//
// When the reconcile ends, its key is held until the informer shows all that it has
// written (see the example of Write): the version of the last write, or any later one, as of an event of another
// object or a bookmark. Any number of children may be created in one reconcile, also
// with generated names, and nothing has to be expected or counted. No worker waits,
// and other keys go on. [Delete] does the same for what is deleted, and [Wrote] is for
// writes of another form. [Controller.Why] tells what a key is held for. If it does not
// show in [Options].ReceiptTimeout, that is reported, counted in [Counters].Unseen,
// and the key goes on.
//
// A receipt needs the answer of the server. A write whose answer was lost is an
// error, and may have been done: the name of an object should follow from what it is
// for wherever two of it would do harm.
//
// [WriteOver] is for updates of an object that was read. With [WatchOptions].SkipOwn its
// key is not reconciled once more only because it wrote.
//
// # One of several processes
//
// With [Options].Leadership the workers start only in the process that leads, and the
// others stand by with synced informers and filled queues. Package leader, in the folder
// below, has one by a Lease. [Controller.Ready] and [Controller.Healthy] say what is not
// ready and which reconcile does not end, and package health tells it over HTTP.
//
// # Time
//
// [Options].Timeout ends the context of a reconcile that takes too long. One that
// does not heed its context keeps its worker, is named in [Status].Reconciling, and
// holds up nothing but its key.
//
// [Controller.Status] tells what a controller is doing, what it has done, and what
// went wrong last; [Controller.Why] where a key is and why it waits.
package controller
