import AgentModel

/// What the hidden station is to do. It does one thing after the other.
enum AirOrder: Equatable {
    case scan(UInt32, ScanOrder)
    case abortScan
    case join(JoinOrder)
    /// Of the join that is under way: sends a frame of the host's.
    case authenticate(AuthenticationFrame)
    /// Of the join that is under way: the host has authenticated.
    case associate
    case leave(reason: UInt16)
    case key(KeyOrder)
    case authorise(BSSID, Bool)
    /// An Ethernet frame of the host's.
    case send(ArraySlice<UInt8>)
    case accessPoint(AccessPointAction)
}

/// What the hidden radio is to do as an access point.
enum AccessPointAction: Equatable {
    case start(AccessPointOrder)
    case stop
    case key(KeyOrder)
    case authorise(BSSID, Bool)
    /// Throws a station out.
    case end(BSSID, reason: UInt16)
    case send(ArraySlice<UInt8>)
}

/// What became of it, and what else happens in the air.
enum AirEvent: Equatable {
    /// The scan of this number has ended.
    case scanned(UInt32, [AirBSS])
    /// It could not be made, or was cut short.
    case scanFailed(UInt32)
    /// The access point of a join in which the host authenticates has been found.
    case authenticationWanted(AirBSS)
    /// It has sent an authentication frame.
    case authenticationFrame([UInt8], AirBSS)
    /// With the elements of both association frames.
    case joined(AirBSS, request: [UInt8], response: [UInt8])
    /// Nothing answers, or the access point refuses.
    case joinFailed(BSSID?, isAbsent: Bool)
    case disconnected(reason: UInt16, isByAccessPoint: Bool)
    /// With the time at which the last beacon was heard; nil where none was since the last time.
    case measured(StationFigures, beacon: Instant?)
    /// A station has joined the access point, for the first time or again.
    case stationJoined(BSSID, elements: [UInt8], isAgain: Bool)
    case stationLeft(BSSID, reason: UInt16)
}
