// Stands in for Swift's module of this name in a build with the thread sanitizer, which sees neither the futexes of
// Swift's `Mutex` on Linux nor what they order: it would report data races in correct code.
import Glibc

/// A value behind a lock of the C library.
public struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let value = UnsafeMutablePointer<Value>.allocate(capacity: 1)

    public init(_ value: consuming sending Value) {
        lock.initialize(to: pthread_mutex_t())
        pthread_mutex_init(lock, nil)
        self.value.initialize(to: value)
    }

    deinit {
        pthread_mutex_destroy(lock)
        lock.deallocate()
        value.deinitialize(count: 1)
        value.deallocate()
    }

    public borrowing func withLock<Result: ~Copyable, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending Result
    ) throws(E) -> sending Result {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(&value.pointee)
    }
}

/// A value behind such a lock, with the operations that the package uses.
public struct Atomic<Value: Equatable & Sendable>: ~Copyable, Sendable {
    public enum Ordering: Sendable { case relaxed, acquiring, releasing, acquiringAndReleasing, sequentiallyConsistent }

    private let value: Mutex<Value>

    public init(_ value: Value) { self.value = Mutex(value) }

    public borrowing func load(ordering: Ordering) -> Value { value.withLock { $0 } }
    public borrowing func store(_ new: Value, ordering: Ordering) { value.withLock { $0 = new } }
    public borrowing func exchange(_ new: Value, ordering: Ordering) -> Value {
        value.withLock { (value: inout Value) in
            defer { value = new }
            return value
        }
    }
    public borrowing func compareExchange(
        expected: Value, desired: Value, ordering: Ordering
    ) -> (exchanged: Bool, original: Value) {
        value.withLock { (value: inout Value) in
            let original = value
            if original == expected { value = desired }
            return (original == expected, original)
        }
    }
}

extension Atomic where Value: FixedWidthInteger {
    @discardableResult public borrowing func add(_ more: Value, ordering: Ordering) -> (
        oldValue: Value, newValue: Value
    ) {
        value.withLock { (value: inout Value) in
            defer { value += more }
            return (value, value + more)
        }
    }
}
