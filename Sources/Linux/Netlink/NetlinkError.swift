import CNetlink
import Glibc

/// Why something asked of the kernel did not happen: what was attempted, and what came of it.
public struct NetlinkError: Error, Hashable {
    /// The attempt, as the object of "cannot": "scan on wlan0".
    public let attempted: String
    public let reason: Reason

    public enum Reason: Hashable, Sendable {
        /// The kernel refused. `detail` is its own text (the extended acknowledgement), where it gave one.
        case refused(errno: Int32, detail: String?)
        /// No answer within the deadline. The request may have been carried out all the same.
        case timedOut(after: Duration)
        /// The kernel's answer was dropped among more news than was read in time. The request may have been
        /// carried out all the same.
        case answerLost
        /// There is no interface of this name, or no longer.
        case interfaceMissing(String)
        /// The kernel does not have this generic-netlink family, for want of a module.
        case familyMissing(String)
        /// The family has no multicast group of this name.
        case groupMissing(String)
        /// The kernel's answer, or the part of it named here, cannot be understood or is larger than it may be.
        case malformed(String)
        /// More was asked for at once than can be done.
        case exceeds(limit: Int, of: String)
    }

    public init(attempted: String, reason: Reason) {
        self.attempted = attempted
        self.reason = reason
    }

    /// The error number with which the kernel refused.
    public var errno: Int32? {
        if case .refused(let errno, _) = reason { errno } else { nil }
    }

    /// Something else has the radio at this moment, such as a scan of another program: try again later.
    public var isBusy: Bool { errno == EBUSY }

    /// The kernel has no nl80211, or whichever family was looked for.
    public var isFamilyMissing: Bool { if case .familyMissing = reason { true } else { false } }

    /// The interface does not exist, or no longer: without nl80211 there is none.
    public var isInterfaceMissing: Bool {
        switch reason {
        case .interfaceMissing, .familyMissing: true
        case .refused(let errno, _): errno == ENODEV || errno == ENXIO
        default: false
        }
    }

    /// The interface exists and is switched off.
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
        case .answerLost: "the kernel's answer was lost among too much news"
        case .interfaceMissing(let name): "there is no interface \(name)"
        case .familyMissing("nl80211"): "the kernel has no nl80211: load the module cfg80211 and the radio's driver"
        case .familyMissing(let name): "the kernel has no netlink family \(name)"
        case .groupMissing(let name): "the kernel has no multicast group \(name)"
        case .malformed(let part): "the kernel's answer is not understood: \(part)"
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
