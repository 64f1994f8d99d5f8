import Glibc

/// User groups of this machine (group(5)).
enum UserGroup {
    /// - Returns: nil if the group is unknown or the lookup fails.
    static func number(of name: String) -> UInt32? {
        var entry = group()
        var found: UnsafeMutablePointer<Glibc.group>?
        var buffer = [CChar](repeating: 0, count: 64 * 1024)
        guard getgrnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return entry.gr_gid
    }
}
