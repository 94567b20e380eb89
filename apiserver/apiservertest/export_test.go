package apiservertest

import "testing"

// SetT makes the server report to another test.
func (s *Server) SetT(t testing.TB) { s.t = t }
