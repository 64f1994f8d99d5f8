import Glibc

/// The groups of users that the machine has (group(5)).
enum UserGroup {
    /// - Returns: nil where there is no group of this name, or it cannot be looked up.
    static func number(of name: String) -> UInt32? {
        var entry = group()
        var found: UnsafeMutablePointer<Glibc.group>?
        // A group of thousands has a long entry; one that is longer cannot be meant.
        var buffer = [CChar](repeating: 0, count: 64 * 1024)
        guard getgrnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return entry.gr_gid
    }
}
