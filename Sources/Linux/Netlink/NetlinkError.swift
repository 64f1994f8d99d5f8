import Glibc

/// A failed attempt and its reason.
public struct NetlinkError: Error, Hashable {
    /// Failed action, worded to follow "cannot": "scan on wlan0".
    public let attempted: String
    public let reason: Reason

    public enum Reason: Hashable, Sendable {
        /// The kernel refused the request. `detail` is the extended acknowledgement, if any.
        case refused(errno: Int32, detail: String?)
        /// No answer came in time. The kernel may still have performed the request.
        case timedOut(after: Duration)
        /// The answer was lost in a receive overrun. The kernel may have performed the request.
        case answerLost
        case interfaceMissing(String)
        /// The kernel lacks this generic netlink family; its module may be missing.
        case familyMissing(String)
        case groupMissing(String)
        /// The kernel's answer, or the named part, is invalid or too large.
        case malformed(String)
        /// One request has too many items, or too many requests are open.
        case exceeds(limit: Int, of: String)
    }

    public init(attempted: String, reason: Reason) {
        self.attempted = attempted
        self.reason = reason
    }

    /// Error number of a refusal; nil for other reasons.
    public var errno: Int32? {
        if case .refused(let errno, _) = reason { errno } else { nil }
    }

    /// True if the radio is busy, for example with another program's scan. Try again later.
    public var isBusy: Bool { errno == EBUSY }

    public var isFamilyMissing: Bool { if case .familyMissing = reason { true } else { false } }

    /// True if the interface does not exist, or the kernel lacks nl80211.
    public var isInterfaceMissing: Bool {
        switch reason {
        case .interfaceMissing, .familyMissing: true
        case .refused(let errno, _): errno == ENODEV || errno == ENXIO
        default: false
        }
    }

    public var isInterfaceDown: Bool { errno == ENETDOWN }
}

extension NetlinkError: CustomStringConvertible {
    public var description: String { "cannot \(attempted): \(reason)" }
}

extension NetlinkError.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .refused(let errno, let detail):
            [String(cString: strerror(errno)), detail ?? Self.advice(on: errno)].compactMap { $0 }.joined(
                separator: ": ")
        case .timedOut(let limit): "no answer from the kernel in \(limit)"
        case .answerLost: "the kernel's answer was lost among too many events"
        case .interfaceMissing(let name): "there is no interface \(name)"
        case .familyMissing("nl80211"): "the kernel has no nl80211: load the module cfg80211 and the radio's driver"
        case .familyMissing(let name): "the kernel has no netlink family \(name)"
        case .groupMissing(let name): "the kernel has no multicast group \(name)"
        case .malformed(let part): "malformed answer from the kernel: \(part)"
        case .exceeds(let limit, let what): "at most \(limit) \(what) at once"
        }
    }

    private static func advice(on errno: Int32) -> String? {
        switch errno {
        case EPERM, EACCES: "this needs CAP_NET_ADMIN: run as root or grant the capability"
        case EBUSY: "another operation is under way: try again later"
        case ENETDOWN: "the interface is down: set it up first"
        case ENODEV: "the interface is gone"
        case ERFKILL: "the radio is blocked by rfkill"
        default: nil
        }
    }
}
