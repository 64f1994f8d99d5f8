import Glibc

/// Repeats a system call that a signal interrupted.
func retrying<Value: SignedInteger>(_ call: () -> Value) -> Value {
    while true {
        let result = call()
        guard result == -1, errno == EINTR else { return result }
    }
}
