// Package recorder is a handler that judges what it is told by Heliograph's
// first promise: for each key, a handler sees a part of the server's history, in
// order.
//
//	r := recorder.New(recorder.Options[*corev1.Pod]{})
//	registration, err := pods.Handle(r, informer.HandlerOptions[*corev1.Pod]{})
//	...
//	err = r.Err()                 // what was told against the rules
//	state := r.State()            // where the changes lead, to compare with a LIST
//	err = r.Within(history)       // whether all of it has really happened
//
// The rules that it checks on each change:
//
//   - calls come one at a time;
//   - Added comes for an object that is not alive, Updated and Deleted for one
//     that is, and Old is the very object that was New before;
//   - versions rise with each change of a key, also across a delete; only a
//     delete that nobody saw may repeat the last one;
//   - an object keeps its UID as long as it lives, and does not come back from
//     the dead (unless a filter may have hidden it meanwhile);
//   - key, UID and version beside the object are those of the object.
package recorder
