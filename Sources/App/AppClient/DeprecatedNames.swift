import AppProtocol

// Names of the previous version, for apps that are built from source. Gone in the next one.

extension DeviceClient {
    @available(*, deprecated, renamed: "openSetupAccessPoint(_:)")
    public func openRescue(
        _ request: SetupAccessPointRequest = SetupAccessPointRequest()
    ) async throws(ClientError) -> SetupAccessPointStatus { try await openSetupAccessPoint(request) }

    @available(*, deprecated, renamed: "closeSetupAccessPoint()")
    public func closeRescue() async throws(ClientError) -> SetupAccessPointStatus { try await closeSetupAccessPoint() }
}
